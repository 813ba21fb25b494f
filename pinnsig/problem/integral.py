"""Conditions on integrals and means, by a quadrature of their own."""

import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from torch import Tensor

from pinnsig.core.errors import ProblemError
from pinnsig.core.types import ColumnArray
from pinnsig.geometry import Domain, Draw, Where
from pinnsig.problem.binding import call_by_name
from pinnsig.problem.condition import Condition, Sites, Value, plain_number, prescribed
from pinnsig.problem.quadrature import Nodes, Rule, make_rule

LINES = 32
NODE_WEIGHTS = "quadrature weights"


class Integral(Condition):
    """The integral of an expression: `Integral(lambda u: u, over="x", equals=1.0)`.

    The expression's parameters are found by their names, as those of a residual: fields with their
    partials, coordinates, coefficients and, on a face, the outward normal. It is integrated over
    `over`, and the condition holds at every value of the other coordinates:

    - `Integral(f, equals=1.0)`: over the whole domain;
    - `Integral(f, over="x", equals=lambda t: torch.exp(-t))`: over x, at every t;
    - `Integral(f, at={"t": 0.5})`: over all other coordinates, at one time;
    - `Integral(f, on="x+")`, `Integral(f, on=("x", "y"), over=("x", "y"))`: over faces, the latter
      over the four sides of a rectangle at every t.

    The rule is a product of Gauss-Legendre panels; over more than four coordinates it is that of
    Sobol points. What it is off by is measured on the trained fields with twice as many nodes, and
    stands in the result.

    Args:
        integrand: gives a tensor of shape (N,).
        over: the coordinates of integration; None for all that are free.
        on: faces over which the integral is taken, added up; None for the inside.
        at: values of coordinates that are held fast.
        equals: what the integral is: a number, or a function of the coordinates that are left, of
            coefficients and choices.
        nodes: of the rule along each coordinate, one number or several by coordinate; over more
            than four coordinates, in all. None for 32 (one or two coordinates), 16 or 8.
        lines: at how many values of the other coordinates the condition is asked for.
        name: of its term.
    """

    group = "integral"
    differentiable = True
    sizes = False

    def __init__(
        self,
        integrand: Callable[..., Any],
        *,
        over: str | Sequence[str] | None = None,
        on: Where | None = None,
        at: Mapping[str, float] | None = None,
        equals: Value = 0.0,
        nodes: int | Mapping[str, int] | None = None,
        lines: int = LINES,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self.what = type(self).__name__
        if not callable(integrand):
            raise ProblemError(
                f"{self.what}: an integrand is a function, such as lambda u: u, not "
                f"{integrand!r:.60}"
            )
        for given in nodes.values() if isinstance(nodes, Mapping) else (nodes, lines):
            if given is not None and (not isinstance(given, int) or given < 1):
                raise ProblemError(f"{self.what}: {given!r} nodes or lines: at least 1 is needed")
        self.integrand, self.equals = integrand, equals
        self.over = (over,) if isinstance(over, str) else None if over is None else tuple(over)
        self.on, self.at = on, {name: plain_number(value) for name, value in (at or {}).items()}
        many = isinstance(nodes, Mapping)
        self.nodes, self.lines = Nodes(tuple(nodes.items()) if many else nodes), lines
        self.rule: Rule | None = None  # once it is bound

    @property
    def place(self) -> str:
        """The coordinates of integration, or the boundary parts."""
        return super().place or "_".join(self.over or ())

    @property
    def left(self) -> tuple[str, ...]:
        """The coordinates at whose every value it holds, once it is bound."""
        return () if self.rule is None else self.rule.left

    def bound(self, domain: Domain, settings: Mapping[str, Any]) -> Self:
        """See `Condition.bound`; the rule is known from here on."""
        other = super().bound(domain, settings)
        other.rule = self._rule(domain)
        other.stride = len(other.rule.weights)
        return other

    def refined(self, domain: Domain) -> Self:
        """Return the same condition with twice as many nodes along each coordinate."""
        other = copy.copy(self)
        other.nodes = Nodes(self.nodes.given, 2 * self.nodes.factor)
        return other.bound(domain, self.settings)

    def of_sizes(self) -> Self:
        """Return a condition whose residual is the integral of the integrand's absolute value."""
        other = copy.copy(self)
        other.sizes = True
        return other

    def sites(self, domain: Domain, count: int, draw: Draw) -> Sites:
        """All nodes of one integral, then those of the next, `lines` of them."""
        del count
        rule = self.rule or self._rule(domain)
        left = [domain.names.index(name) for name in rule.left]
        unit = draw(self.lines, len(left)) if left else np.empty((1, 0))
        points = np.tile(rule.points, (len(unit), 1, 1))
        low, high = domain.lower[left], domain.upper[left]
        points[:, :, left] = (low * (1.0 - unit) + high * unit)[:, np.newaxis]
        extra = {NODE_WEIGHTS: np.tile(self.weigh(rule.weights), len(unit))}
        if self.on is not None:
            columns = zip(domain.names, rule.normals.T, strict=True)
            extra |= {f"normal_{name}": np.tile(column, len(unit)) for name, column in columns}
        return Sites(points.reshape(-1, domain.dimensions), extra)

    def residual(
        self,
        fields: Mapping[str, Any],
        coordinates: Mapping[str, Any],
        extra: Mapping[str, Tensor],
    ) -> dict[str, Any]:
        """The integrals less what they are to be, shape (N / nodes,)."""
        assert self.rule is not None
        weights = extra[NODE_WEIGHTS]
        normals = {key: column for key, column in extra.items() if key != NODE_WEIGHTS}
        available = {**fields, **coordinates, **normals}
        values = call_by_name(self.integrand, available, self.what, self.settings)
        values = getattr(values, "value", values)
        if getattr(values, "shape", None) != weights.shape:
            found = tuple(values.shape) if isinstance(values, Tensor) else f"{values!r:.60}"
            raise ProblemError(
                f"{self.what}: its integrand must give a tensor of shape {tuple(weights.shape)}, "
                f"not {found}"
            )
        if self.sizes:
            return {"value": (abs(values) * weights).reshape(-1, self.stride).sum(1)}
        totals = (values * weights).reshape(-1, self.stride).sum(1)
        left = {name: coordinates[name].value[:: self.stride] for name in self.rule.left}
        what = f"{self.what}, equals"
        return {"value": totals - prescribed(self.equals, left, what, self.settings, fields)}

    def weigh(self, weights: ColumnArray) -> ColumnArray:
        """Return what is made of weights that sum to the measure."""
        return weights

    def _rule(self, domain: Domain) -> Rule:
        """The rule inside, or on all boundary parts together.

        Raises:
            ProblemError: names that do not fit the domain, or too many nodes.
        """
        given = self.nodes.given if isinstance(self.nodes.given, tuple) else ()
        for name in (*(self.over or ()), *self.at, *dict(given)):
            if name not in domain.names:
                raise ProblemError(
                    f"{self.what}: {name!r} is no coordinate: the domain has "
                    f"{', '.join(domain.names)}"
                )
        for name, value in self.at.items():
            low, high = domain.interval(name)
            if not low <= value <= high:
                raise ProblemError(
                    f"{self.what}: at {name} = {value:g} lies outside the domain, which has "
                    f"{low:g} to {high:g}"
                )
            if name in (self.over or ()):
                raise ProblemError(f"{self.what}: {name} is both in over= and in at=")
        parts = (None,) if self.on is None else domain.parts(self.on)
        rules = [
            make_rule(domain, part, self.over, tuple(self.at.items()), self.nodes, self.what)
            for part in parts
        ]
        if len({rule.left for rule in rules}) > 1:
            raise ProblemError(
                f"{self.what}: on={self.on!r} and over={self.over!r} leave other coordinates on "
                "one part than on another: name in over= all that run along them"
            )
        return functools.reduce(Rule.joined, rules)


class Mean(Integral):
    """The mean of an expression: `Mean(lambda u: u, over="x", equals=0.0)`; as `Integral`."""

    def weigh(self, weights: ColumnArray) -> ColumnArray:
        """See `Integral.weigh`."""
        return weights / weights.sum()
