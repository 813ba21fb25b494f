"""Slabs of time: the same problem over a part of its time, from where the part before it ends."""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from pinnsig.core.errors import ProblemError
from pinnsig.geometry import Box, Domain, Face, Product
from pinnsig.problem.boundary import BoundaryCondition
from pinnsig.problem.condition import Condition, Draw, Sites, read_target
from pinnsig.problem.integral import Integral
from pinnsig.problem.point_data import PointData
from pinnsig.problem.prescribed import Initial

Array = NDArray[np.float64]
Ends = Callable[[Mapping[str, Array], tuple[str, ...]], Mapping[str, Array]]
"""Quantities of a solution at points: from coordinates and names such as "u" and "u_t"."""


@dataclass(frozen=True)
class Slab:
    """A part of a problem's time.

    Attributes:
        low, high: its ends.
        last: whether it is the last one.
        before: the solution before it; None for the first one.
    """

    low: float
    high: float
    last: bool
    before: Ends | None = None

    def conditions(self, found: Iterable[Condition], time: str) -> list[Condition]:
        """Return a problem's conditions here: what it starts from, and data of this time only."""
        return [own for one in found if (own := self._own(one, time)) is not None]

    def _own(self, condition: Condition, time: str) -> Condition | None:
        if isinstance(condition, PointData):
            return self._data(condition, time)
        if self.before is not None and _starts(condition, time):
            return Joint(condition, time, self.before)  # type: ignore[arg-type]
        return condition

    def _data(self, data: PointData, time: str) -> PointData | None:
        """What was measured in this time; a joint belongs to the slab before it."""
        at = data.columns.get(time)
        if at is None:
            return data  # refused later
        inside = ~(at <= self.low) | (self.before is None)  # what is missing stays
        inside &= ~(at > self.high) | self.last
        if data.missing == "drop":
            inside &= ~np.isnan(at)
        if not inside.any():
            return None
        return data.at_rows(inside)


class Joint(Condition):
    """What an `Initial` condition prescribes, with values from the solution of the slab before."""

    group = "initial"

    def __init__(self, start: Initial, time: str, before: Ends) -> None:
        super().__init__(start.name)
        self.on, self.time, self.before = start.on, time, before
        self.targets = tuple(start.values)

    def sites(self, domain: Domain, count: int, draw: Draw) -> Sites:
        """Points at the start of the slab, with the values there."""
        (start,) = domain.parts(f"{self.time}-")
        points, _ = domain.sample_part(start, count, draw)
        columns = dict(zip(domain.names, points.T, strict=True))
        return Sites(points, dict(self.before(columns, self.targets)))

    def residual(
        self,
        fields: Mapping[str, Any],
        coordinates: Mapping[str, Tensor],
        extra: Mapping[str, Tensor],
    ) -> dict[str, Any]:
        """Quantities less what they were."""
        return {
            target: read_target(fields, target, coordinates) - extra[target]
            for target in self.targets
        }


def restricted(problem: Any, slab: Slab) -> Any:
    """Return a problem over a slab of its time; it stays as it is."""
    other = copy.copy(problem)
    other.__dict__["domain"] = _shortened(problem.domain, slab.low, slab.high)
    other.time_slab = slab
    return other


def _shortened(domain: Domain, low: float, high: float) -> Domain:
    """The same domain over a part of its time.

    Raises:
        ProblemError: it is no box, and no product of a shape with time.
    """
    if isinstance(domain, Box):
        intervals = {name: domain.interval(name) for name in domain.names}
        return Box(**{**intervals, str(domain.time): (low, high)})
    if type(domain) is Product:
        sides = (domain.left, domain.right)
        left, right = (_shortened(d, low, high) if d.time else d for d in sides)
        return Product(left, right)
    raise ProblemError(
        f"slabs are cut from boxes and from shapes times an interval of time, not from {domain}"
    )


def slab_ends(problem: Any, given: int | Sequence[float]) -> list[float]:
    """Return the ends of slabs: K + 1 times, from the start of the domain's time to its end.

    Args:
        problem: which is cut.
        given: how many slabs of one length, or the times at which they end; the last one, the end
            of all, may be left out.

    Raises:
        ProblemError: the problem has no time, no shape that is cut, a condition that does not stay
            within a slab, or something learned; or times out of order.
    """
    name, domain = type(problem).__name__, problem.domain
    time = domain.time
    if time is None:
        raise ProblemError(
            f"{name} has no time to cut into slabs: its coordinates are {', '.join(domain.names)}"
        )
    _shortened(domain, *domain.interval(time))  # refused where it cannot be
    learned = [*problem.learned(), *problem.functions()]
    if learned:
        raise ProblemError(
            f"{name} learns {', '.join(learned)}: each slab would find another value; "
            "leave slabs out"
        )
    _check_conditions(problem, time)
    low, high = domain.interval(time)
    if isinstance(given, int):
        return [*np.linspace(low, high, given + 1).tolist()[:-1], high]
    ends = [float(end) for end in given]
    ends = [low, *(ends if ends and ends[-1] == high else [*ends, high])]
    if any(b <= a for a, b in pairwise(ends)):
        raise ProblemError(
            f"slabs = {', '.join(f'{end:g}' for end in given)}: they must end in this order within "
            f"{time} from {low:g} to {high:g}"
        )
    return ends


def _check_conditions(problem: Any, time: str) -> None:
    name, starts = type(problem).__name__, 0
    if problem.collocation_points is not None:
        raise ProblemError(f"{name} has collocation_points at all times: leave slabs out")
    for condition in problem.bound_conditions():
        if _starts(condition, time):
            starts += 1
            continue
        called = f"{name}: the condition {type(condition).__name__}"
        parts = condition.parts(problem.domain)
        if any(isinstance(part, Face) and part.coordinate == time for part in parts):
            raise ProblemError(
                f"{called} holds at an end of {time}: slabs hand on what Initial prescribes, such "
                "as Initial(u=...), and nothing else there"
            )
        if isinstance(condition, Integral) and time not in condition.left:
            raise ProblemError(
                f"{called} goes over all of {time}, or holds at one: leave slabs out"
            )
        if isinstance(condition, BoundaryCondition) and condition.given:
            raise ProblemError(f"{called} has points of its own at all times: leave slabs out")
    if not starts:
        raise ProblemError(
            f"{name} has no Initial condition: there is nothing for slabs to hand on"
        )


def _starts(condition: Condition, time: str) -> bool:
    return isinstance(condition, Initial) and condition.on in (None, time, f"{time}-")
