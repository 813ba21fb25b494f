"""Domains: where a problem's coordinates lie, and the parts of their boundary."""

from pinnsig.geometry.annulus import Annulus
from pinnsig.geometry.ball import Ball, Disc
from pinnsig.geometry.box import Box, Interval
from pinnsig.geometry.combinations import Difference, Intersection, Union
from pinnsig.geometry.domain import TIME_NAMES, Domain
from pinnsig.geometry.ellipse import Ellipse
from pinnsig.geometry.mesh import Mesh
from pinnsig.geometry.moving import Moving
from pinnsig.geometry.outside import ROUNDING
from pinnsig.geometry.parts import Draw, Face, Filtered, NamedPart, Part, Where, called
from pinnsig.geometry.point_cloud import PointCloud
from pinnsig.geometry.polygon import Polygon
from pinnsig.geometry.product import Cylinder, Product

__all__ = [
    "ROUNDING",
    "TIME_NAMES",
    "Annulus",
    "Ball",
    "Box",
    "Cylinder",
    "Difference",
    "Disc",
    "Domain",
    "Draw",
    "Ellipse",
    "Face",
    "Filtered",
    "Intersection",
    "Interval",
    "Mesh",
    "Moving",
    "NamedPart",
    "Part",
    "PointCloud",
    "Polygon",
    "Product",
    "Union",
    "Where",
    "called",
]
