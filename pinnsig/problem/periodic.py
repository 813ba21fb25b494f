"""Periodic conditions."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np
from torch import Tensor

from pinnsig.core.errors import ProblemError
from pinnsig.geometry import Domain, Draw, Face
from pinnsig.problem.condition import Condition, Sites
from pinnsig.problem.prescribed import checked_hard


class Periodic(Condition):
    """Fields and their derivatives below `order` agree on the two sides of a coordinate.

    `hard=True` makes them agree to every order: the network sees a point of the circle, sin and
    cos of 2 pi x / length, in the place of x. It takes all fields, and no `features` beside it.

    `Periodic("x")` asks for u and u_x to agree; order=1 for u alone, order=(1, 2) for these
    derivatives and no others, as of a potential in a mean field. Of a system, `fields=("u",)`
    names those that are periodic; without it all are.
    """

    group = "boundary"
    stride = 2
    makes_features = True

    def __init__(
        self,
        on: str,
        *,
        order: int | Sequence[int] = 2,
        fields: Sequence[str] | None = None,
        hard: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        orders = range(order) if _is_integer(order) else order
        if not isinstance(orders, Sequence) or not orders or not all(map(_is_integer, orders)):
            raise ProblemError(
                f"Periodic: order = {order!r} cannot be: it must be an integer of at least 1, or "
                "several derivatives, such as (1, 2)"
            )
        if not isinstance(on, str):
            raise ProblemError(f"Periodic: on={on!r} must name a whole coordinate, such as 'x'")
        named = (fields,) if isinstance(fields, str) else fields
        if named is not None and not named:
            raise ProblemError("Periodic: fields=() names none: leave it out for all of them")
        if hard and named is not None:
            raise ProblemError("Periodic: hard=True makes all fields periodic: leave fields= out")
        self.on, self.hard = on, checked_hard(self, hard)
        self.orders = tuple(orders)
        self.fields = None if named is None else tuple(named)

    def parts(self, domain: Domain) -> tuple[Face, ...]:
        """The two sides of its coordinate."""
        faces = [part for part in domain.parts(self.on) if isinstance(part, Face)]
        if len(faces) != 2 or {face.coordinate for face in faces} != {self.on}:
            raise ProblemError(f"Periodic: on={self.on!r} must name a whole coordinate")
        return tuple(faces)

    def sites(self, domain: Domain, count: int, draw: Draw) -> Sites:
        """Opposite points next to each other: lower, upper, lower, upper, ..."""
        low, _ = self.parts(domain)
        below, _ = domain.sample_part(low, max(count // 2, 1), draw)
        above = below.copy()
        above[:, domain.names.index(self.on)] = domain.interval(self.on)[1]
        pairs = np.stack([below, above], axis=1)
        return Sites(pairs.reshape(-1, domain.dimensions))

    def residual(
        self,
        fields: Mapping[str, Any],
        coordinates: Mapping[str, Tensor],
        extra: Mapping[str, Tensor],
    ) -> dict[str, Any]:
        """Lower less upper, shape (N / 2,), for each field and each derivative."""
        del coordinates, extra
        unknown = next((name for name in self.fields or () if name not in fields), None)
        if unknown is not None:
            raise ProblemError(
                f"Periodic {self.on}: {unknown!r} is no field: the problem has {', '.join(fields)}"
            )
        found = {}
        every = (name for name in fields if name not in self.functions)
        for name in self.fields or every:
            field = fields[name]
            for order in self.orders:
                values = (getattr(field, self.on * order) if order else field).value
                found[f"{name}_{self.on * order}" if order else name] = values[::2] - values[1::2]
        return found


def _is_integer(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
