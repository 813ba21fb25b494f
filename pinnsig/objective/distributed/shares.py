"""Dealing out the points of all terms, in their order, neighbours together."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pinnsig.core.errors import SettingsError
from pinnsig.problem import INTERIOR, Problem, Sites


@dataclass(frozen=True)
class Share:
    """The points of one process.

    Every process has some of each term. Where there are too few, it has a copy of the first ones,
    which count for nothing: all have the same terms then.

    Attributes:
        sites: its points, by term.
        totals: see `pinnsig.objective.Block.total`.
        spans: which of all points they are; empty for copies.
    """

    sites: dict[str, Sites]
    totals: dict[str, float]
    spans: dict[str, slice]


def deal(problem: Problem, sites: Mapping[str, Sites], size: int) -> list[Share]:
    """Return the shares of so many processes, which differ by one group of points at most.

    Raises:
        SettingsError: there are fewer collocation points than processes.
    """
    inside = len(sites[INTERIOR].points)
    if inside < size:
        raise SettingsError(f"{inside} collocation points are too few for {size} processes")
    terms = problem.terms()
    strides = {name: terms[name].stride if name in terms else 1 for name in sites}
    return [_share(sites, strides, rank, size) for rank in range(size)]


def _share(sites: Mapping[str, Sites], strides: Mapping[str, int], rank: int, size: int) -> Share:
    own, totals, spans = {}, {}, {}
    for name, all_of_term in sites.items():
        total, stride = len(all_of_term.points), strides[name]
        groups = total // stride
        start, stop = (stride * (groups * edge // size) for edge in (rank, rank + 1))
        spans[name] = slice(start, stop)
        totals[name] = total if stop > start else math.inf
        rows = slice(start, stop) if stop > start else slice(0, stride)
        extra = {key: column[rows] for key, column in all_of_term.extra.items()}
        own[name] = replace(all_of_term, points=all_of_term.points[rows], extra=extra)
    return Share(own, totals, spans)
