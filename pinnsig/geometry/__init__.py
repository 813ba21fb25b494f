"""Domains: where a problem's coordinates lie, and its faces."""

from pinnsig.geometry.box import Box, Face

__all__ = ["Box", "Face"]
