"""Where the points of each term lie: unit-cube samplers, and their use on a problem.

A sampler is a function (n, dimensions, generator) -> array of shape (n, dimensions), float64, in
the closed unit cube. Its only source of randomness is the numpy generator that it is given.
"""

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

from pinnsig.errors import SamplingError
from pinnsig.problem import Condition, Problem, Sites
from pinnsig.problem.condition import split_evenly

try:
    from pydoe import lhs as _pydoe_lhs
except ImportError:  # packages of this name came with either spelling
    from pyDOE import lhs as _pydoe_lhs  # pyright: ignore[reportMissingImports]

Array = NDArray[np.float64]
Sampler = Callable[[int, int, np.random.Generator], Array]


def lhs(n: int, dimensions: int, generator: np.random.Generator) -> Array:
    """Latin hypercube (McKay, Beckman and Conover 1979): one point in each of n equal strata."""
    return _pydoe_lhs(dimensions, samples=n, seed=generator)


def uniform(n: int, dimensions: int, generator: np.random.Generator) -> Array:
    """Independent uniform points."""
    return generator.random((n, dimensions))


def sobol(n: int, dimensions: int, generator: np.random.Generator) -> Array:
    """The first n points of a scrambled Sobol sequence; best balanced where n is a power of 2."""
    # drawn up to a power of 2 and cut, which gives the same points without scipy's warning;
    # `seed` is called `rng` since scipy 1.15, which still takes the old name
    sequence = qmc.Sobol(dimensions, seed=generator)  # pyright: ignore[reportCallIssue]
    return sequence.random_base2(max(n - 1, 0).bit_length())[:n]


def halton(n: int, dimensions: int, generator: np.random.Generator) -> Array:
    """The first n points of a scrambled Halton sequence."""
    sequence = qmc.Halton(dimensions, seed=generator)  # pyright: ignore[reportCallIssue]
    return sequence.random(n)


def grid(n: int, dimensions: int, generator: np.random.Generator) -> Array:
    """Cell centres of the largest regular grid of at most n points; nothing is random in it."""
    del generator
    if dimensions == 0:
        return np.empty((n, 0))
    side = round(n ** (1.0 / dimensions))
    side -= side**dimensions > n  # rounded up
    centres = (np.arange(side) + 0.5) / max(side, 1)
    axes = np.meshgrid(*[centres] * dimensions, indexing="ij")
    return np.stack([axis.ravel() for axis in axes], axis=1)


SAMPLERS: dict[str, Sampler] = {
    "lhs": lhs,
    "uniform": uniform,
    "sobol": sobol,
    "halton": halton,
    "grid": grid,
}


def register_sampler(name: str, function: Sampler) -> None:
    """Make a sampler known by name.

    Raises:
        SamplingError: the name is taken.
    """
    if name in SAMPLERS:
        raise SamplingError(f"a sampler named {name!r} is there already: choose another name")
    SAMPLERS[name] = function


def sampler_function(name: str) -> Sampler:
    """The sampler of that name.

    Raises:
        SamplingError: there is none.
    """
    if name not in SAMPLERS:
        near = difflib.get_close_matches(name, SAMPLERS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(SAMPLERS)}"
        raise SamplingError(f"no sampler is called {name!r}: {hint}")
    return SAMPLERS[name]


@dataclass(frozen=True)
class Counts:
    """How many points to draw: inside the domain, and in all for each group of conditions.

    A group with count 0 is left out of the loss.

    Raises:
        SamplingError: a count that is negative or no integer, or no collocation point.
    """

    collocation: int
    initial: int
    boundary: int

    def __post_init__(self) -> None:
        for name, least in (("collocation", 1), ("initial", 0), ("boundary", 0)):
            _checked_integer(getattr(self, name), f"{name} count", least)


def draw_sites(
    problem: Problem, counts: Counts, sampler: str, seed: int, draw_number: int = 0
) -> dict[str, Sites]:
    """The points of every term: "residual" inside the domain, then one entry per condition.

    Each group's count is shared between its conditions in proportion to their faces. Every term
    has a random stream of its own, made from seed, draw number and its name, so that one term's
    points do not depend on which others there are. No global random state is read or changed.

    Args:
        problem: whose domain and conditions to draw for.
        counts: how many points.
        sampler: name of a registered sampler.
        seed: the run's seed, at least 0.
        draw_number: at least 0; another one gives fresh points.

    Returns:
        Sites by term name, points in float64.

    Raises:
        SamplingError: unknown sampler, unusable seed, fewer points than faces in a group, a group
            that has no count, or a sampler whose points are not what it should return.
    """
    function = sampler_function(sampler)
    _checked_integer(seed, "seed", 0)
    _checked_integer(draw_number, "draw number", 0)
    domain, terms = problem.domain, problem.terms()
    shares = _shares(problem, terms, counts)
    for term, condition in terms.items():
        if condition.group not in ("initial", "boundary", "data"):
            raise SamplingError(f"term {term!r}: its group {condition.group!r} has no count")

    def stream(term: str) -> Callable[[int, int], Array]:
        key = (draw_number, *term.encode())
        generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
        return lambda n, dims: _checked_points(function(n, dims, generator), n, dims, sampler)

    interior = stream("residual")(counts.collocation, domain.dimensions)
    sites = {"residual": Sites(domain.place(interior))}
    for term, condition in terms.items():
        share = shares.get(term, 0)
        if share or condition.group == "data":  # data bring points of their own
            sites[term] = condition.sites(domain, share, stream(term))
    return sites


def _shares(problem: Problem, terms: dict[str, Condition], counts: Counts) -> dict[str, int]:
    """Points of each condition's term."""
    shares = {}
    for group, total in {"initial": counts.initial, "boundary": counts.boundary}.items():
        members = {name: c for name, c in terms.items() if c.group == group}
        faces = {name: max(len(c.faces(problem.domain)), 1) for name, c in members.items()}
        parts = sum(faces.values())
        if 0 < total < parts:
            raise SamplingError(
                f"{group} count {total} is too small: the conditions hold on {parts} faces"
            )
        portions = iter(split_evenly(total, parts))
        shares |= {name: sum(islice(portions, k)) for name, k in faces.items()}
    return shares


def _checked_integer(value: int, what: str, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise SamplingError(f"{what} {value!r} is not an integer")
    if value < least:
        raise SamplingError(f"{what} {value} cannot be: it must be at least {least}")


def _checked_points(points: Array, n: int, dimensions: int, sampler: str) -> Array:
    """A grid may hold fewer points than asked; nothing else may differ."""
    points = np.asarray(points, dtype=np.float64)
    fits = points.ndim == 2 and points.shape[1] == dimensions and (0 < len(points) <= n or n == 0)
    if not fits or not np.all((points >= 0.0) & (points <= 1.0)):
        raise SamplingError(
            f"sampler {sampler!r} must return at most {n} points of the unit cube, "
            f"shape ({n}, {dimensions}), not shape {points.shape}"
        )
    return points
