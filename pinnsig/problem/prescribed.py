"""Short forms of residuals on boundaries: initial values, Dirichlet, Neumann, Robin."""

from collections.abc import Mapping
from numbers import Real
from typing import Any

from numpy.typing import ArrayLike
from torch import Tensor

from pinnsig.core.errors import ProblemError
from pinnsig.geometry import Domain, Part, Where
from pinnsig.problem.binding import call_by_name, needed_names
from pinnsig.problem.boundary import BoundaryCondition, given_points, in_words
from pinnsig.problem.condition import Condition, Value, prescribed, read_target
from pinnsig.problem.given_points import GivenPoints
from pinnsig.problem.tables import Table


class Prescribed(BoundaryCondition):
    """Prescribes one value per keyword: the short form of `On` for "quantity less value"."""

    def __init__(
        self,
        on: Where | None,
        name: str | None,
        values: dict[str, Value],
        points: GivenPoints | None = None,
    ) -> None:
        super().__init__(on, name, points)
        if not values:
            raise ProblemError(
                f"{type(self).__name__} prescribes nothing: give a value, such as u=0.0"
            )
        self.values = values

    def residual(
        self,
        fields: Mapping[str, Any],
        coordinates: Mapping[str, Tensor],
        extra: Mapping[str, Tensor],
    ) -> dict[str, Any]:
        """The prescribed quantity less its value, one entry per keyword."""
        found = {}
        for target, value in self.values.items():
            quantity = self.quantity(read_target(fields, target, coordinates), coordinates, extra)
            what = f"{self.title}, {target}"
            # the normal's components are for who names them: **x has the coordinates alone
            named = {**self.settings, **extra}
            found[target] = quantity - prescribed(value, coordinates, what, named, fields)
        return found

    def normals(self, domain: Domain) -> tuple[str, ...]:
        """See `BoundaryCondition`; all coordinates where a value names a normal's component."""
        functions = [value for value in self.values.values() if callable(value)]
        named = [name for function in functions for name in needed_names(function)]
        if any(name.startswith("normal_") for name in named):
            return domain.names
        return super().normals(domain)

    @property
    def title(self) -> str:
        """What it is called in an error."""
        return f"{type(self).__name__} {'' if self.on is None else in_words(self.on)}".strip()

    def quantity(
        self, field: Any, coordinates: Mapping[str, Tensor], extra: Mapping[str, Tensor]
    ) -> Any:
        """What is prescribed, shape (N,): the field itself unless a subclass says otherwise."""
        del coordinates, extra
        return field


class Initial(Prescribed):
    """Values at the start of time: `Initial(u=lambda x: torch.sin(x), u_t=0.0)`.

    It holds where the coordinate named t, tau or time is lowest; `on="s"` names another one.
    `hard=True` meets it exactly (see `Dirichlet`), with the derivative in time, if it is given.
    `points` and `weights` are of one's own (`GivenPoints`).
    """

    group = "initial"

    def __init__(
        self,
        /,
        *,
        on: str | None = None,
        points: Table | None = None,
        weights: ArrayLike | None = None,
        hard: bool = False,
        name: str | None = None,
        **values: Value,
    ) -> None:
        super().__init__(on, name, values, given_points(points, None, weights, "Initial"))
        self.hard = checked_hard(self, hard)

    def parts(self, domain: Domain) -> tuple[Part, ...]:
        """The face where time is lowest."""
        if not isinstance(self.on, str | None):
            raise ProblemError(f"Initial: on={self.on!r} must name one coordinate, such as 't'")
        time = self.on or domain.time
        if time is None:
            raise ProblemError(
                f"Initial finds no time among the coordinates {', '.join(domain.names)}: "
                "name the one that starts, such as on='x'"
            )
        return domain.parts(time.rstrip("-") + "-")


class Dirichlet(Prescribed):
    """Values on the boundary: `Dirichlet(on="x", u=0.0)`, or `on="x-"`, `on=("x", "y+")`.

    With `hard=True` no term of a loss asks for them: the field is made to have them, from the
    network's output and the distance to the boundary (`pinnsig.problem.hard`). The values must
    agree with those of other hard conditions where they meet, and are computed from coordinates
    by arithmetic and torch's functions.

    `points` and `weights` are of one's own (`GivenPoints`); `on` may then be left out.
    """

    group = "boundary"

    def __init__(
        self,
        on: Where | None = None,
        *,
        points: Table | None = None,
        weights: ArrayLike | None = None,
        hard: bool = False,
        name: str | None = None,
        **values: Value,
    ) -> None:
        super().__init__(on, name, values, given_points(points, None, weights, "Dirichlet"))
        self.hard = checked_hard(self, hard)
        if hard and points is not None:
            raise ProblemError("Dirichlet: hard=True needs no points: leave points= out")


class Neumann(Prescribed):
    """Outward normal derivatives on the boundary: `Neumann(on="x+", u=0.0)` prescribes du/dn.

    `points`, their `normals` and `weights` are of one's own (`GivenPoints`); `on` may then be left
    out, and so may normals on faces of a box that it names.
    """

    group = "boundary"

    def __init__(
        self,
        on: Where | None = None,
        *,
        points: Table | None = None,
        normals: ArrayLike | Mapping[str, ArrayLike] | None = None,
        weights: ArrayLike | None = None,
        name: str | None = None,
        **values: Value,
    ) -> None:
        own = given_points(points, normals, weights, type(self).__name__)
        super().__init__(on, name, values, own)

    def needed_normals(self, domain: Domain) -> tuple[str, ...]:
        """See `BoundaryCondition.needed_normals`."""
        space = tuple(name for name in domain.names if name != domain.time)
        return self.normals(domain) if self.on is not None else space

    def quantity(
        self, field: Any, coordinates: Mapping[str, Tensor], extra: Mapping[str, Tensor]
    ) -> Any:
        """The outward normal derivative, du/dn."""
        del coordinates
        normals = {key: n for key, n in extra.items() if key.startswith("normal_")}
        parts = [n * getattr(field, key.removeprefix("normal_")) for key, n in normals.items()]
        return sum(parts[1:], parts[0])


class Robin(Neumann):
    """The mixed condition a u + b du/dn: `Robin(on="x", a=1.0, b=0.5, u=0.0)`.

    A field that is called a or b has its conditions written by `On`.
    """

    def __init__(
        self,
        on: Where | None = None,
        *,
        a: Value,
        b: Value,
        points: Table | None = None,
        normals: ArrayLike | Mapping[str, ArrayLike] | None = None,
        weights: ArrayLike | None = None,
        name: str | None = None,
        **values: Value,
    ) -> None:
        super().__init__(on, points=points, normals=normals, weights=weights, name=name, **values)
        self.a, self.b = a, b

    def quantity(
        self, field: Any, coordinates: Mapping[str, Tensor], extra: Mapping[str, Tensor]
    ) -> Any:
        """a u + b du/dn."""
        a = prescribed(self.a, coordinates, f"{self.title}, a", self.settings)
        b = prescribed(self.b, coordinates, f"{self.title}, b", self.settings)
        return a * field + b * super().quantity(field, coordinates, extra)


def with_partials(condition: Prescribed, target: str, at: Mapping[str, Any]) -> Any:
    """Return a prescribed value as a number, or with its partials as a jet.

    Args:
        condition: that prescribes it.
        target: its keyword.
        at: the coordinates, as jets.

    Raises:
        ProblemError: it is computed by functions that lose the partials, or cannot be had.
    """
    value, what = condition.values[target], f"{condition.title}, {target}"
    if not callable(value):
        return prescribed(value, at, what, condition.settings)
    result = call_by_name(value, at, what, condition.settings)
    if isinstance(result, Real) and not isinstance(result, bool):
        return float(result)
    is_jet = type(result) is type(next(iter(at.values())))
    if is_jet or (isinstance(result, Tensor) and result.ndim == 0):
        return result
    raise ProblemError(
        f"{what}: hard=True needs the value with its partials: compute it from the coordinates by "
        f"arithmetic and torch's functions (it is a {type(result).__name__})"
    )


def checked_hard(condition: Condition, hard: bool) -> bool:
    """Return whether a condition is to be met exactly.

    Raises:
        ProblemError: something else than True or False.
    """
    if not isinstance(hard, bool):
        raise ProblemError(f"{type(condition).__name__}: hard={hard!r:.60} must be True or False")
    return hard
