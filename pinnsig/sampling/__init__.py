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
from pinnsig.sampling.sites import COORDINATE_BYTES, Counts, draw_inside, draw_sites
from pinnsig.sampling.storage import pack_sites, unpack_sites

__all__ = [
    "COORDINATE_BYTES",
    "SAMPLERS",
    "Counts",
    "Sampler",
    "draw_inside",
    "draw_sites",
    "grid",
    "halton",
    "lhs",
    "pack_sites",
    "register_sampler",
    "sampler_function",
    "sobol",
    "uniform",
    "unpack_sites",
]
