"""What figures show of a run: fields on planes through the domain, and measured values."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from pinnsig.model import Model, SlabModel
from pinnsig.model.evaluation import Comparison, compare, fine_axis
from pinnsig.problem import Problem, Sites
from pinnsig.problem.point_data import measured_values

Array = NDArray[np.float64]
Measured = tuple[Array, Array]
"""Points, shape (N, dimensions), and values measured there, shape (N,)."""

MOST = 64
"""Coordinates of a grid, at most: NumPy's arrays have no more dimensions."""


def planes(
    model: Model | SlabModel, comparisons: Mapping[str, Comparison]
) -> tuple[Mapping[str, Comparison], Mapping[str, Comparison]]:
    """Return every field on the plane of maps and on that of slices, by field.

    With one or two coordinates both are what they are made of. With more, both go through the
    middle of the domain, with as many points as there are with two: maps over the first two
    coordinates, slices along the first one that is not time, at different times (or values of the
    last coordinate). With more than `MOST` there is none.

    Raises:
        ProblemError: see `compare`.
    """
    problem = model.problem
    names = problem.domain.names
    if len(names) < 3:
        return comparisons, comparisons
    if len(names) > MOST:
        return {}, {}
    last = problem.domain.time or names[-1]
    along = next(name for name in names if name != last)
    return _plane(model, names[0], names[1]), _plane(model, along, last)


def _plane(model: Model | SlabModel, *spanning: str) -> dict[str, Comparison]:
    axes = {}
    domain = model.problem.domain
    for name in domain.names:
        middle = np.array([0.5 * sum(domain.interval(name))])
        axes[name] = fine_axis(model.problem, name) if name in spanning else middle
    return compare(model, axes)


def measurements(problem: Problem, sites: Mapping[str, Sites]) -> dict[str, Measured]:
    """Return what was measured of each field, as far as it was.

    Args:
        problem: whose fields.
        sites: points by term, measured values as columns named as the field.
    """
    found: dict[str, list[Measured]] = {}
    for own in sites.values():
        for field in problem.fields:
            if (own_values := measured_values(own, field)) is not None:
                found.setdefault(field, []).append(own_values)
    return {
        field: (np.concatenate([p for p, _ in parts]), np.concatenate([v for _, v in parts]))
        for field, parts in found.items()
    }
