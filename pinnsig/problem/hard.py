"""Conditions met exactly: fields made of network outputs by the distance to where they hold.

u = G + D n, where D vanishes on all parts of the boundary on which u is prescribed, G has the
prescribed values there, and n is the network's output. On boxes G is a boolean sum of linear
interpolations between opposite faces (Gordon and Hall 1973), which is smooth; on other shapes the
mean of the prescribed functions, weighted by the distances to the other parts (Rvachev, Sheiko,
Shapiro and Tsukanov 2001; Sukumar and Srivastava 2022).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pinnsig.core.errors import ProblemError
from pinnsig.geometry import Domain, Face, Part
from pinnsig.problem.condition import Condition, Value
from pinnsig.problem.periodic import Periodic
from pinnsig.problem.prescribed import Dirichlet, Initial, with_partials

At = Mapping[str, Any]
"""Coordinates by name, as jets."""

Function = Callable[[At], Any]
TINY = 1e-14  # beside distances of order 1: what a mean is where several of them vanish


@dataclass(frozen=True)
class Piece:
    """Where a field is prescribed, and what it is there.

    Attributes:
        part: of the boundary.
        given: what was prescribed: the same for several parts of one condition.
        value: of the field, a function of coordinates that are jets.
        slope: of its derivative along the normal coordinate, at the start of time.
    """

    part: Part
    given: Value
    value: Function
    slope: Function | None = None


def hard_fields(
    domain: Domain, conditions: Sequence[Condition], outputs: Mapping[str, Any], at: At
) -> dict[str, Any]:
    """Return fields that meet the conditions, whatever the network's outputs are.

    Args:
        domain: of the problem.
        conditions: of which those with hard=True are met.
        outputs: of the network, by field.
        at: the coordinates.

    Raises:
        ProblemError: a condition of which no ansatz can be made.
    """
    pieces: dict[str, list[Piece]] = {name: [] for name in outputs}
    for condition in conditions:
        if not (condition.hard and isinstance(condition, Initial | Dirichlet)):
            continue
        for name, piece in _pieces(domain, condition, tuple(outputs)):
            if any(other.part == piece.part for other in pieces[name]):
                raise ProblemError(
                    f"{condition.title}: {name} is prescribed twice on {piece.part}, and "
                    "hard=True can meet one of them only"
                )
            pieces[name].append(piece)
    return {
        name: _field(domain, pieces[name], n, at) if pieces[name] else n
        for name, n in outputs.items()
    }


def hard_features(
    domain: Domain, conditions: Sequence[Condition], at: At, is_scaled: bool
) -> list[Any]:
    """Return network inputs that make every field periodic where a hard condition says so.

    Args:
        domain: of the problem.
        conditions: of which periodic ones with hard=True count.
        at: the coordinates.
        is_scaled: whether the other coordinates are scaled to [-1, 1].
    """
    periodic = {c.on for c in conditions if c.hard and isinstance(c, Periodic)}
    found = []
    for name in domain.names:
        if name in periodic:
            turn = 2 * math.pi * _share(domain, name, at)
            found += [turn.sin(), turn.cos()]
        elif is_scaled:
            middle, factor = unit_map(domain, name)
            found.append((at[name] - middle) * factor)
        else:
            found.append(at[name])
    return found


def unit_map(domain: Domain, name: str) -> tuple[float, float]:
    """Return middle and factor with (values - middle) * factor on [-1, 1], for a coordinate."""
    low, high = domain.interval(name)
    return 0.5 * (low + high), 2 / (high - low)


def _field(domain: Domain, pieces: list[Piece], n: Any, at: At) -> Any:
    pieces = sorted(pieces, key=lambda piece: not _is_start(domain, piece.part))
    boxed = all(isinstance(piece.part, Face) for piece in pieces)
    factors = [_factor(domain, piece) for piece in pieces]
    lifting = _boolean_sum(domain, pieces) if boxed else _weighted(domain, pieces, factors)
    vanishing = n
    for factor in factors:
        vanishing = factor(at) * vanishing
    return lifting(at) + vanishing


def _pieces(
    domain: Domain, condition: Initial | Dirichlet, fields: tuple[str, ...]
) -> list[tuple[str, Piece]]:
    """What a condition prescribes, by field and boundary part."""
    time = domain.time if isinstance(condition, Initial) and condition.on is None else None
    found = []
    for target, value in condition.values.items():
        name = target.removesuffix(f"_{time}") if time and target not in fields else target
        if name not in fields:
            raise ProblemError(
                f"{condition.title}, {target}: hard=True meets values of fields, and at the start "
                "of time of their first derivatives: prescribe this one without it"
            )
        slope = name != target
        if slope and name not in condition.values:
            raise ProblemError(f"{condition.title}, {target}: hard=True needs {name} beside it")
        if not slope:
            rate = f"{name}_{time}" if time and f"{name}_{time}" in condition.values else None
            values = _function(condition, target), _function(condition, rate) if rate else None
            found += [(name, Piece(part, value, *values)) for part in condition.parts(domain)]
    return found


def _function(condition: Initial | Dirichlet, target: str) -> Function:
    return lambda at: with_partials(condition, target, at)


def _is_start(domain: Domain, part: Part) -> bool:
    return isinstance(part, Face) and part.coordinate == domain.time and not part.upper


def _share(domain: Domain, name: str, at: At) -> Any:
    """How far a coordinate is on its interval, from 0 to 1."""
    low, high = domain.interval(name)
    return (at[name] - low) / (high - low)


def _factor(domain: Domain, piece: Piece) -> Function:
    """What vanishes on a part, about 1 at the most; with a slope to the second order."""
    part = piece.part
    if isinstance(part, Face):

        def factor(at: At) -> Any:
            share = _share(domain, part.coordinate, at)
            along = 1 - share if part.upper else share
            return along if piece.slope is None else along**2

        return factor
    distance = domain.approximate_distance(part)
    return lambda at: distance(at) / (0.5 * domain.size)


def _boolean_sum(domain: Domain, pieces: list[Piece]) -> Function:
    """Interpolation between opposite faces, one coordinate after the other."""
    lifting: Function = _nothing
    coordinates = dict.fromkeys(p.part.coordinate for p in pieces if isinstance(p.part, Face))
    for name in coordinates:
        own = [p for p in pieces if isinstance(p.part, Face) and p.part.coordinate == name]
        lifting = _interpolated(domain, name, own, lifting)
    return lifting


def _nothing(at: At) -> float:
    del at
    return 0.0


def _interpolated(domain: Domain, name: str, own: list[Piece], before: Function) -> Function:
    """`before`, corrected to the values prescribed at the ends of one coordinate."""

    def lifting(at: At) -> Any:
        share, total = _share(domain, name, at), before(at)
        for piece in own:
            assert isinstance(piece.part, Face)
            end = at[name].lift(domain.interval(name)[piece.part.upper])
            there = {**at, name: end}
            gap = piece.value(there) - before(there)
            if piece.slope is not None:  # `before` is 0, for time comes first
                gap = gap + piece.slope(there) * (at[name] - end)
            if len(own) == 2:
                gap = (share if piece.part.upper else 1 - share) * gap
            total = total + gap
        return total

    return lifting


def _weighted(domain: Domain, pieces: list[Piece], factors: list[Function]) -> Function:
    """The mean of the prescribed functions, weighted by the distances to the other parts."""

    def lifting(at: At) -> Any:
        values = []
        for piece in pieces:
            value = piece.value(at)
            if piece.slope is not None and isinstance(piece.part, Face):
                name = piece.part.coordinate
                value = value + piece.slope(at) * (at[name] - domain.interval(name)[0])
            values.append(value)
        if all(piece.given is pieces[0].given for piece in pieces):
            return values[0]
        distances = [factor(at) for factor in factors]
        weights = [
            math.prod(d for j, d in enumerate(distances) if j != i) + TINY
            for i in range(len(pieces))
        ]
        weighted = [w * v for w, v in zip(weights, values, strict=True)]
        return sum(weighted[1:], weighted[0]) / sum(weights[1:], weights[0])

    return lifting
