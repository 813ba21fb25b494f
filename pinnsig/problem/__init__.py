"""What a PDE is made of: all that a file in `problems/`, or a user's own file, imports."""

from pinnsig.geometry import (
    Annulus,
    Ball,
    Box,
    Cylinder,
    Disc,
    Domain,
    Ellipse,
    Face,
    Interval,
    Mesh,
    PointCloud,
    Polygon,
)
from pinnsig.problem.base import Problem
from pinnsig.problem.boundary import On
from pinnsig.problem.coefficients import Choice, Coefficient, Setting
from pinnsig.problem.condition import INTERIOR, Condition, Sites
from pinnsig.problem.functions import Function
from pinnsig.problem.hard import hard_features, hard_fields
from pinnsig.problem.integral import Integral, Mean
from pinnsig.problem.interface import Interface
from pinnsig.problem.periodic import Periodic
from pinnsig.problem.point_data import PointData
from pinnsig.problem.prescribed import Dirichlet, Initial, Neumann, Robin
from pinnsig.problem.references import (
    HarmonicReference,
    ODEReference,
    PeriodicReference,
    corner,
    corner_logarithm,
    edges,
    poles,
    powers,
)
from pinnsig.problem.regions import by_region
from pinnsig.problem.registry import (
    absolute,
    name_of,
    opened_by,
    problem_class,
    problem_entries,
    problem_file,
    source_of,
)
from pinnsig.problem.slab import Joint, Slab, restricted, slab_ends

__all__ = [
    "INTERIOR",
    "Annulus",
    "Ball",
    "Box",
    "Choice",
    "Coefficient",
    "Condition",
    "Cylinder",
    "Dirichlet",
    "Disc",
    "Domain",
    "Ellipse",
    "Face",
    "Function",
    "HarmonicReference",
    "Initial",
    "Integral",
    "Interface",
    "Interval",
    "Joint",
    "Mean",
    "Mesh",
    "Neumann",
    "ODEReference",
    "On",
    "Periodic",
    "PeriodicReference",
    "PointCloud",
    "PointData",
    "Polygon",
    "Problem",
    "Robin",
    "Setting",
    "Sites",
    "Slab",
    "absolute",
    "by_region",
    "corner",
    "corner_logarithm",
    "edges",
    "hard_features",
    "hard_fields",
    "name_of",
    "opened_by",
    "poles",
    "powers",
    "problem_class",
    "problem_entries",
    "problem_file",
    "restricted",
    "slab_ends",
    "source_of",
]
