"""Unit-cube samplers: functions (n, dimensions, generator) -> points in the closed unit cube.

A sampler's only source of randomness is the numpy generator that it is given.
"""

from collections.abc import Callable

import numpy as np
from scipy.stats import qmc

from pinnsig.core.errors import SamplingError
from pinnsig.core.registry import Registry
from pinnsig.core.types import UnitArray

try:
    from pydoe import lhs as _pydoe_lhs
except ImportError:  # packages of this name came with either spelling
    from pyDOE import lhs as _pydoe_lhs  # pyright: ignore[reportMissingImports]

Sampler = Callable[[int, int, np.random.Generator], UnitArray]


def lhs(n: int, dimensions: int, generator: np.random.Generator) -> UnitArray:
    """Latin hypercube (McKay, Beckman and Conover 1979): one point in each of n equal strata."""
    return _pydoe_lhs(dimensions, samples=n, seed=generator)


def uniform(n: int, dimensions: int, generator: np.random.Generator) -> UnitArray:
    """Independent uniform points."""
    return generator.random((n, dimensions))


def sobol(n: int, dimensions: int, generator: np.random.Generator) -> UnitArray:
    """The first n points of a scrambled Sobol sequence; best balanced where n is a power of 2."""
    # drawn up to a power of 2 and cut, which gives the same points without scipy's warning;
    # `seed` is called `rng` since scipy 1.15, which still takes the old name
    sequence = qmc.Sobol(dimensions, seed=generator)  # pyright: ignore[reportCallIssue]
    return sequence.random_base2(max(n - 1, 0).bit_length())[:n]


def halton(n: int, dimensions: int, generator: np.random.Generator) -> UnitArray:
    """The first n points of a scrambled Halton sequence."""
    sequence = qmc.Halton(dimensions, seed=generator)  # pyright: ignore[reportCallIssue]
    return sequence.random(n)


def grid(n: int, dimensions: int, generator: np.random.Generator) -> UnitArray:
    """Cell centres of the largest regular grid of at most n points; nothing is random in it."""
    del generator
    if dimensions == 0:
        return np.empty((n, 0))
    side = round(n ** (1.0 / dimensions))
    side -= side**dimensions > n  # rounded up
    centres = (np.arange(side) + 0.5) / max(side, 1)
    axes = np.meshgrid(*[centres] * dimensions, indexing="ij")
    return np.stack([axis.ravel() for axis in axes], axis=1)


SAMPLERS: Registry[Sampler] = Registry(
    "sampler",
    SamplingError,
    {"lhs": lhs, "uniform": uniform, "sobol": sobol, "halton": halton, "grid": grid},
)
"""Samplers by name."""


def register_sampler(name: str, function: Sampler) -> None:
    """Make a sampler known by name.

    Raises:
        SamplingError: the name is taken.
    """
    SAMPLERS.register(name, function)


def sampler_function(name: str) -> Sampler:
    """Return the sampler of that name.

    Raises:
        SamplingError: there is none.
    """
    return SAMPLERS.find(name)
