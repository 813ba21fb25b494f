"""What a PDE is made of: all that a file in `problems/`, or a user's own file, imports."""

from pinnsig.geometry import Box, Domain, Face
from pinnsig.problem.base import Problem
from pinnsig.problem.boundary import On
from pinnsig.problem.coefficients import Choice, Coefficient, Setting
from pinnsig.problem.condition import INTERIOR, Condition, Sites
from pinnsig.problem.hard import hard_features, hard_fields
from pinnsig.problem.periodic import Periodic
from pinnsig.problem.point_data import PointData
from pinnsig.problem.prescribed import Dirichlet, Initial, Neumann, Robin
from pinnsig.problem.references import ODEReference, PeriodicReference
from pinnsig.problem.registry import (
    absolute,
    name_of,
    opened_by,
    problem_class,
    problem_entries,
    problem_file,
    source_of,
)

__all__ = [
    "INTERIOR",
    "Box",
    "Choice",
    "Coefficient",
    "Condition",
    "Dirichlet",
    "Domain",
    "Face",
    "Initial",
    "Neumann",
    "ODEReference",
    "On",
    "Periodic",
    "PeriodicReference",
    "PointData",
    "Problem",
    "Robin",
    "Setting",
    "Sites",
    "absolute",
    "hard_features",
    "hard_fields",
    "name_of",
    "opened_by",
    "problem_class",
    "problem_entries",
    "problem_file",
    "source_of",
]
