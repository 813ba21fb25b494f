"""Points: unit-cube samplers, and their use on a problem."""

from pinnsig.sampling.samplers import (
    SAMPLERS,
    Sampler,
    grid,
    halton,
    lhs,
    register_sampler,
    sampler_function,
    sobol,
    uniform,
)
from pinnsig.sampling.sites import COORDINATE_BYTES, Counts, draw_sites

__all__ = [
    "COORDINATE_BYTES",
    "SAMPLERS",
    "Counts",
    "Sampler",
    "draw_sites",
    "grid",
    "halton",
    "lhs",
    "register_sampler",
    "sampler_function",
    "sobol",
    "uniform",
]
