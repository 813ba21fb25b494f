"""Short forms of residuals on boundaries: initial values, Dirichlet, Neumann, Robin."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from pinnsig.core.errors import ProblemError
from pinnsig.geometry import Domain, Part, Where
from pinnsig.problem.boundary import BoundaryCondition, in_words
from pinnsig.problem.condition import Value, prescribed, read_target


class Prescribed(BoundaryCondition):
    """Prescribes one value per keyword: the short form of `On` for "quantity less value"."""

    def __init__(self, on: Where | None, name: str | None, values: dict[str, Value]) -> None:
        super().__init__(on, name)
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
            found[target] = quantity - prescribed(value, coordinates, what, self.settings, fields)
        return found

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
    """

    group = "initial"

    def __init__(
        self, /, *, on: str | None = None, name: str | None = None, **values: Value
    ) -> None:
        super().__init__(on, name, values)

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
    """Values on the boundary: `Dirichlet(on="x", u=0.0)`, or `on="x-"`, `on=("x", "y+")`."""

    group = "boundary"

    def __init__(self, on: Where, *, name: str | None = None, **values: Value) -> None:
        super().__init__(on, name, values)


class Neumann(Dirichlet):
    """Outward normal derivatives on the boundary: `Neumann(on="x+", u=0.0)` prescribes du/dn."""

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
        self, on: Where, *, a: Value, b: Value, name: str | None = None, **values: Value
    ) -> None:
        super().__init__(on, name=name, **values)
        self.a, self.b = a, b

    def quantity(
        self, field: Any, coordinates: Mapping[str, Tensor], extra: Mapping[str, Tensor]
    ) -> Any:
        """a u + b du/dn."""
        a = prescribed(self.a, coordinates, f"{self.title}, a", self.settings)
        b = prescribed(self.b, coordinates, f"{self.title}, b", self.settings)
        return a * field + b * super().quantity(field, coordinates, extra)
