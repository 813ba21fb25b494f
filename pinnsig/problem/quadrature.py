"""Nodes and weights of integrals over a domain, its boundary parts, and slices of them."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pinnsig.core.errors import ProblemError
from pinnsig.core.types import ColumnArray, PointArray, UnitArray
from pinnsig.geometry import Box, Domain, Face, Part
from pinnsig.geometry.quadrature import SCATTERED, USUAL, cube_rule, scattered_rule

MOST_NODES = 2**17  # of one integral


@dataclass(frozen=True)
class Nodes:
    """How many nodes there are along a coordinate.

    Attributes:
        given: one number, pairs of coordinate and number, or None for the usual ones.
        factor: by which they are multiplied.
    """

    given: int | tuple[tuple[str, int], ...] | None = None
    factor: int = 1

    def along(self, names: Sequence[str]) -> list[int]:
        """Return those of a product of rules."""
        usual = USUAL[len(names)] if not isinstance(self.given, int) else self.given
        given = dict(self.given) if isinstance(self.given, tuple) else {}
        return [self.factor * given.get(name, usual) for name in names]

    def in_all(self, what: str) -> int:
        """Return the number of scattered nodes.

        Raises:
            ProblemError: they are given by coordinate.
        """
        if isinstance(self.given, tuple):
            raise ProblemError(f"{what}: here nodes= must be one number, of all nodes")
        return self.factor * (self.given or SCATTERED)


@dataclass(frozen=True)
class Rule:
    """A quadrature rule: the integral is about the sum of weights times values.

    Attributes:
        points: shape (q, dimensions); coordinates that are not integrated over are set later.
        normals: outward unit normals, shape (q, dimensions); zero inside.
        weights: shape (q,), whose sum is the measure.
        left: the other coordinates that are free.
    """

    points: PointArray
    normals: PointArray
    weights: ColumnArray
    left: tuple[str, ...]

    def joined(self, other: "Rule") -> "Rule":
        """Return the rule of a sum of two integrals over the same coordinates or other ones."""
        return replace(
            self,
            points=np.concatenate([self.points, other.points]),
            normals=np.concatenate([self.normals, other.normals]),
            weights=np.concatenate([self.weights, other.weights]),
        )


@functools.lru_cache(maxsize=64)
def make_rule(
    domain: Domain,
    part: Part | None,
    over: tuple[str, ...] | None,
    held: tuple[tuple[str, float], ...],
    nodes: Nodes,
    what: str,
) -> Rule:
    """Return a rule inside a domain or on one of its boundary parts.

    It is kept, since conditions are made anew at each evaluation where coefficients are learned.

    On boxes it is a product of Gauss-Legendre panels, or up from five coordinates Sobol points;
    on other domains, points uniform in them, of equal weights.

    Args:
        domain: of integration.
        part: of its boundary; None for the inside.
        over: the coordinates of integration; None for all that are free.
        held: coordinates that are held fast, and their values.
        nodes: how many.
        what: what it is called in an error.

    Raises:
        ProblemError: coordinates that cannot be integrated over, or too many nodes.
    """
    fixed = {*dict(held)} | ({part.coordinate} if isinstance(part, Face) else set())
    if isinstance(part, Face) and part.coordinate in dict(held):
        raise ProblemError(f"{what}: {part.coordinate} is held by on= and by at=")
    free = [name for name in domain.names if name not in fixed]
    along = [name for name in free if over is None or name in over]
    if over and not along:
        raise ProblemError(f"{what}: over={tuple(over)} leaves nothing to integrate over")
    left = tuple(name for name in free if name not in along)
    if isinstance(domain, Box) and (part is None or isinstance(part, Face)):
        rule = _box_rule(domain, part, along, left, nodes, what)
    else:
        rule = _shape_rule(domain, part, left, {*dict(held)}, nodes, what)
    if len(rule.weights) > MOST_NODES:
        raise ProblemError(
            f"{what}: {len(rule.weights):,} nodes are too many: at most {MOST_NODES:,}, see nodes="
        )
    for name, value in held:
        rule.points[:, domain.names.index(name)] = value
    for column in (rule.points, rule.normals, rule.weights):
        column.flags.writeable = False
    return rule


def _box_rule(
    domain: Box, face: Face | None, along: list[str], left: tuple[str, ...], nodes: Nodes, what: str
) -> Rule:
    if len(along) in USUAL:
        each = nodes.along(along)
        if np.prod([float(n) for n in each]) > MOST_NODES:
            raise ProblemError(
                f"{what}: nodes = {each} are too many: at most {MOST_NODES:,} in all"
            )
        unit, weights = cube_rule(each)
    else:
        unit, weights = scattered_rule(nodes.in_all(what), len(along))
    whole = np.zeros((len(unit), domain.dimensions))
    for name, column in zip(along, unit.T, strict=True):
        whole[:, domain.names.index(name)] = column
    normals = np.zeros_like(whole)
    if face is not None:
        axis = domain.names.index(face.coordinate)
        whole[:, axis], normals[:, axis] = float(face.upper), face.normal
    measure = math.prod(_length(domain, name) for name in along)
    return Rule(domain.place(whole), normals, weights * measure, left)


def _shape_rule(
    domain: Domain,
    part: Part | None,
    left: tuple[str, ...],
    held: set[str],
    nodes: Nodes,
    what: str,
) -> Rule:
    """Uniform points; over all coordinates of space, and time or none."""
    others = {*left, *held} - {domain.time}
    if others:
        raise ProblemError(
            f"{what}: on a {type(domain).__name__} the integral is over all coordinates of space, "
            f"not with {', '.join(sorted(others))} held or left"
        )
    count, stream = nodes.in_all(what), iter(range(2**31))

    def draw(n: int, dimensions: int) -> UnitArray:
        return scattered_rule(n, dimensions, next(stream))[0] if dimensions else np.empty((n, 0))

    if part is None:
        points, measure = domain.sample(count, draw), domain.measure
        normals = np.zeros_like(points)
    else:
        points, normals = domain.sample_part(part, count, draw)
        measure = domain.part_measure(part)
    if {*left, *held}:
        measure /= _length(domain, str(domain.time))
    weights = np.full(len(points), measure / len(points))
    return Rule(points.copy(), normals.copy(), weights, left)


def _length(domain: Domain, name: str) -> float:
    low, high = domain.interval(name)
    return high - low
