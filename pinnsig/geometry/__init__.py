"""Domains: where a problem's coordinates lie, and the parts of their boundary."""

from pinnsig.geometry.box import Box, Face
from pinnsig.geometry.domain import TIME_NAMES, Domain, Draw, Part, Where

__all__ = ["TIME_NAMES", "Box", "Domain", "Draw", "Face", "Part", "Where"]
