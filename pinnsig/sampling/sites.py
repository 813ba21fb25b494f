"""Where the points of each term of a problem lie, from the run's seed alone."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from pinnsig.core.errors import SamplingError
from pinnsig.core.memory import require
from pinnsig.core.types import UnitArray
from pinnsig.problem import INTERIOR, Condition, Problem, Sites
from pinnsig.problem.condition import GROUPS
from pinnsig.sampling.samplers import sampler_function

COORDINATE_BYTES = 32
"""Of each coordinate of a point: as drawn, as placed, and in the type that is trained in."""


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

    Points that a problem or condition has of its own are the same at each draw.

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
    total = counts.collocation + counts.initial + counts.boundary
    _require_memory(problem, total)
    domain, terms = problem.domain, problem.terms()
    shares = _shares(problem, terms, counts)
    for term, condition in terms.items():
        if condition.group not in GROUPS:
            raise SamplingError(f"term {term!r}: its group {condition.group!r} has no count")

    inside = problem.own_collocation()
    if inside is None:
        inside = draw_inside(problem, counts.collocation, sampler, seed, draw_number)
    sites = {INTERIOR: inside}
    for term, condition in terms.items():
        share = shares.get(term, 0)
        if share or condition.given or condition.group == "integral":
            draw = _stream(term, sampler, seed, draw_number)
            sites[term] = condition.sites(domain, share, draw)
            _check_sites(sites[term], condition, problem, term)
    return sites


def draw_inside(
    problem: Problem, count: int, sampler: str, seed: int, draw_number: int = 0
) -> Sites:
    """Return the collocation points that `draw_sites` gives, by themselves.

    The problem's conditions are not asked for.

    Raises:
        SamplingError: see `draw_sites`.
    """
    _checked_integer(seed, "seed", 0)
    _checked_integer(draw_number, "draw number", 0)
    _require_memory(problem, count)
    draw = _stream(INTERIOR, sampler, seed, draw_number)
    return Sites(problem.domain.sample(count, draw))


def _stream(
    term: str, sampler: str, seed: int, draw_number: int
) -> Callable[[int, int], UnitArray]:
    """Points of the unit cube from a term's own random stream."""
    function, key = sampler_function(sampler), (draw_number, *term.encode())
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
    return lambda n, dims: _checked_points(function(n, dims, generator), n, dims, sampler)


def _require_memory(problem: Problem, count: int) -> None:
    require(
        count * problem.domain.dimensions * COORDINATE_BYTES,
        f"{count:,} points of {problem.domain.dimensions} coordinates",
        "take fewer points",
        error=SamplingError,
    )


def _check_sites(sites: Sites, condition: Condition, problem: Problem, term: str) -> None:
    """Refuse points of a condition that are no points of the domain."""
    points, dimensions = np.asarray(sites.points), problem.domain.dimensions
    if points.ndim != 2 or points.shape[1] != dimensions or not len(points):
        raise SamplingError(
            f"term {term!r}: its points must have shape (N, {dimensions}), not {points.shape}"
        )
    if len(points) % condition.stride:
        raise SamplingError(
            f"term {term!r}: it has {len(points)} points, which are no groups of {condition.stride}"
        )
    for key, column in sites.extra.items():
        if np.shape(column) != (len(points),):
            raise SamplingError(
                f"term {term!r}: its column {key!r} must have shape ({len(points)},), "
                f"not {np.shape(column)}"
            )
    if not np.isfinite(points).all():
        raise SamplingError(f"term {term!r}: its points must be finite")
    outside = None if condition.outside else problem.domain.describe_outside(points)
    if outside:
        raise SamplingError(f"term {term!r}: {outside}; set outside = True if they may")


def _shares(problem: Problem, terms: dict[str, Condition], counts: Counts) -> dict[str, int]:
    """Points of each condition's term."""
    shares = {}
    for group, total in {"initial": counts.initial, "boundary": counts.boundary}.items():
        of = (group, "interface") if group == "boundary" else (group,)
        members = {name: c for name, c in terms.items() if c.group in of and not c.given}
        sides = {name: max(len(c.parts(problem.domain)), 1) for name, c in members.items()}
        parts = sum(sides.values())
        if 0 < total < parts:
            raise SamplingError(
                f"{group} count {total} is too small: the conditions hold on {parts} faces"
            )
        portions = iter(_split_evenly(total, parts))
        shares |= {name: sum(islice(portions, k)) for name, k in sides.items()}
    return shares


def _split_evenly(count: int, parts: int) -> list[int]:
    """Split a count into whole parts that differ by at most one."""
    return [count // parts + (part < count % parts) for part in range(parts)]


def _checked_integer(value: int, what: str, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise SamplingError(f"{what} {value!r} is not an integer")
    if value < least:
        raise SamplingError(f"{what} {value} cannot be: it must be at least {least}")


def _checked_points(points: Any, n: int, dimensions: int, sampler: str) -> UnitArray:
    """A grid may hold fewer points than asked; nothing else may differ."""
    points = np.asarray(points, dtype=np.float64)
    fits = points.ndim == 2 and points.shape[1] == dimensions and (0 < len(points) <= n or n == 0)
    if not fits or not np.all((points >= 0.0) & (points <= 1.0)):
        raise SamplingError(
            f"sampler {sampler!r} must return at most {n} points of the unit cube, "
            f"shape ({n}, {dimensions}), not shape {points.shape}"
        )
    return points
