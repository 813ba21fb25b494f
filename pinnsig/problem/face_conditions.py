"""Conditions on faces of the domain: initial, Dirichlet, Neumann, Robin, periodic."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from pinnsig.errors import ProblemError
from pinnsig.problem.condition import (
    Condition,
    Draw,
    Sites,
    Value,
    prescribed,
    read_target,
    split_evenly,
)
from pinnsig.problem.domain import Box, Face

On = str | Sequence[str]


class FaceCondition(Condition):
    """Prescribes one value per keyword on the faces that `on` names."""

    def __init__(self, on: On | None, name: str | None, values: dict[str, Value]) -> None:
        super().__init__(name)
        if not values:
            raise ProblemError(
                f"{type(self).__name__} prescribes nothing: give a value, such as u=0.0"
            )
        self.on = on
        self.values = values

    def faces(self, domain: Box) -> tuple[Face, ...]:
        """The faces that `on` names: "x" both sides, "x-" and "x+" single ones."""
        return domain.faces(() if self.on is None else self.on)

    def sites(self, domain: Box, count: int, draw: Draw) -> Sites:
        """Points shared evenly between the faces, with the outward normal at each.

        A face without extent (in one dimension) is one point.
        """
        faces = self.faces(domain)
        if not faces:
            raise ProblemError(f"{type(self).__name__}: on={self.on!r} names no face: write on='x'")
        free = domain.dimensions - 1
        shares = split_evenly(count, len(faces)) if free else [1] * len(faces)
        points = [domain.place(draw(n, free), face) for n, face in zip(shares, faces, strict=True)]
        drawn = [len(part) for part in points]  # a grid may give fewer than asked
        normals = {
            f"normal_{name}": np.repeat([f.normal * (f.coordinate == name) for f in faces], drawn)
            for name in dict.fromkeys(face.coordinate for face in faces)
        }
        return Sites(np.concatenate(points), normals)

    def residual(
        self,
        fields: Mapping[str, Any],
        coordinates: Mapping[str, Tensor],
        extra: Mapping[str, Tensor],
    ) -> dict[str, Any]:
        """The prescribed quantity less its value, one entry per keyword."""
        what = f"{type(self).__name__} {'' if self.on is None else self.on}".strip()
        return {
            target: self.quantity(read_target(fields, target), coordinates, extra)
            - prescribed(value, coordinates, f"{what}, {target}")
            for target, value in self.values.items()
        }

    def quantity(
        self, field: Any, coordinates: Mapping[str, Tensor], extra: Mapping[str, Tensor]
    ) -> Any:
        """What is prescribed, shape (N,): the field itself unless a subclass says otherwise."""
        del coordinates, extra
        return field


class Initial(FaceCondition):
    """Values at the start of time: `Initial(u=lambda x: torch.sin(x), u_t=0.0)`.

    It holds where the coordinate named t, tau or time is lowest; `on="s"` names another one.
    """

    group = "initial"

    def __init__(
        self, /, *, on: str | None = None, name: str | None = None, **values: Value
    ) -> None:
        super().__init__(on, name, values)

    def faces(self, domain: Box) -> tuple[Face, ...]:
        """The face where time is lowest."""
        time = self.on if isinstance(self.on, str) else domain.time
        if time is None:
            raise ProblemError(
                f"Initial finds no time among the coordinates {', '.join(domain.names)}: "
                "name the one that starts, such as on='x'"
            )
        return domain.faces(time.rstrip("-") + "-")


class Dirichlet(FaceCondition):
    """Values on faces: `Dirichlet(on="x", u=0.0)`, or `on="x-"`, `on=("x", "y+")`."""

    group = "boundary"

    def __init__(self, /, *, on: On, name: str | None = None, **values: Value) -> None:
        super().__init__(on, name, values)


class Neumann(Dirichlet):
    """Outward normal derivatives on faces: `Neumann(on="x+", u=0.0)` prescribes du/dn."""

    def quantity(
        self, field: Any, coordinates: Mapping[str, Tensor], extra: Mapping[str, Tensor]
    ) -> Any:
        """The outward normal derivative, du/dn."""
        del coordinates
        normals = {key: n for key, n in extra.items() if key.startswith("normal_")}
        parts = [n * getattr(field, key.removeprefix("normal_")) for key, n in normals.items()]
        return sum(parts[1:], parts[0])


class Robin(Neumann):
    """The mixed condition a u + b du/dn: `Robin(on="x", a=1.0, b=0.5, u=0.0)`."""

    def __init__(
        self, /, *, on: On, a: Value, b: Value, name: str | None = None, **values: Value
    ) -> None:
        super().__init__(on=on, name=name, **values)
        self.a, self.b = a, b

    def quantity(
        self, field: Any, coordinates: Mapping[str, Tensor], extra: Mapping[str, Tensor]
    ) -> Any:
        """a u + b du/dn."""
        a = prescribed(self.a, coordinates, f"Robin {self.on}, a")
        b = prescribed(self.b, coordinates, f"Robin {self.on}, b")
        return a * field + b * super().quantity(field, coordinates, extra)


class Periodic(Condition):
    """Fields and their derivatives below `order` agree on the two sides of a coordinate.

    `Periodic(on="x")` asks for u and u_x to agree; order=1 for u alone.
    """

    group = "boundary"
    stride = 2

    def __init__(self, /, *, on: str, order: int = 2, name: str | None = None) -> None:
        super().__init__(name)
        if not isinstance(order, int) or order < 1:
            raise ProblemError(
                f"Periodic: order = {order!r} cannot be: it must be a whole number, at least 1"
            )
        self.on, self.order = on, order

    def faces(self, domain: Box) -> tuple[Face, ...]:
        """The two sides of its coordinate."""
        faces = domain.faces(self.on)
        if len(faces) != 2:
            raise ProblemError(f"Periodic: on={self.on!r} must name a whole coordinate")
        return faces

    def sites(self, domain: Box, count: int, draw: Draw) -> Sites:
        """Opposite points next to each other: lower, upper, lower, upper, ..."""
        low, high = self.faces(domain)
        free = domain.dimensions - 1
        unit = draw(max(count // 2, 1) if free else 1, free)
        pairs = np.stack([domain.place(unit, low), domain.place(unit, high)], axis=1)
        return Sites(pairs.reshape(-1, domain.dimensions))

    def residual(
        self,
        fields: Mapping[str, Any],
        coordinates: Mapping[str, Tensor],
        extra: Mapping[str, Tensor],
    ) -> dict[str, Any]:
        """Lower less upper, shape (N / 2,), for each field and each derivative."""
        del coordinates, extra
        found = {}
        for name, field in fields.items():
            for order in range(self.order):
                values = (getattr(field, self.on * order) if order else field).value
                found[f"{name}_{self.on * order}" if order else name] = values[::2] - values[1::2]
        return found
