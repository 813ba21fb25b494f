"""Initialisers: each fills a network from a `torch.Generator`, and says with which numbers."""

from pinnsig.initializers.base import (
    INITIALIZERS,
    Description,
    Initializer,
    Scales,
    register_initializer,
)
from pinnsig.initializers.schemes import (
    Calibrated,
    EdgeOfChaos,
    Gaussian,
    GivenNoise,
    He,
    Orthogonal,
    Xavier,
)
from pinnsig.initializers.sines import SirenUniform
from pinnsig.initializers.specs import initializer_from, parse_initializer

__all__ = [
    "INITIALIZERS",
    "Calibrated",
    "Description",
    "EdgeOfChaos",
    "Gaussian",
    "GivenNoise",
    "He",
    "Initializer",
    "Orthogonal",
    "Scales",
    "SirenUniform",
    "Xavier",
    "initializer_from",
    "parse_initializer",
    "register_initializer",
]
