"""Conditions between regions whose equations or coefficients differ."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from pinnsig.core.errors import ProblemError
from pinnsig.geometry import Domain, Draw
from pinnsig.problem.binding import call_by_name
from pinnsig.problem.condition import (
    NUDGE,
    Condition,
    Sites,
    Value,
    plain_number,
    prescribed,
    results_by_name,
)


class Interface(Condition):
    """Fields and fluxes agree on the two sides of a plane inside the domain, or jump.

    `Interface(at={"y": 0.4}, flux=lambda u, y, k: k(y) * u.y)` makes all fields continuous, and
    the flux; its parameters are found by their names, as those of a residual, with the normal's
    components among them (normal_y). Every point comes as two, one on either side, as near to the
    plane as the run's numbers can tell apart: code that knows its region by the coordinates
    (`by_region`, `torch.where(y < 0.4, ...)`), in an ansatz, a residual or a flux, gives each its
    own. The fields need an output of the network for each region:

        def ansatz(self, n1, n2, y):
            return by_region(y - 0.4, n1, n2)

    Args:
        at: the coordinate and its value on the plane. The normal points to larger values.
        continuous: names of the fields that do not jump, or jump as said; None for all.
        flux: what else is continuous, several in a dict or tuple.
        jump: by the name of a field or flux ("flux", "flux_1", ...), its value behind the plane,
            where the coordinate is larger, less that before it; a number, or a function of
            coordinates, coefficients and choices. 0 where not given.
        name: of its term.

    Raises:
        ProblemError: no plane, or nothing that is to agree.
    """

    group = "interface"
    stride = 2
    differentiable = True

    def __init__(
        self,
        *,
        at: Mapping[str, float],
        continuous: str | Sequence[str] | None = None,
        flux: Callable[..., Any] | None = None,
        jump: Mapping[str, Value] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        if not isinstance(at, Mapping) or len(at) != 1:
            raise ProblemError(
                f"Interface: at={at!r} must be one coordinate, such as at={{'y': 0.4}}"
            )
        if flux is not None and not callable(flux):
            raise ProblemError(
                f"Interface: a flux is a function, such as lambda u: 2.0 * u.y, not {flux!r:.60}"
            )
        ((self.coordinate, value),) = at.items()
        self.value = plain_number(value)
        named = (continuous,) if isinstance(continuous, str) else continuous
        self.continuous = None if named is None else tuple(named)
        if self.continuous == () and flux is None:
            raise ProblemError("Interface: nothing is continuous: name fields, or give a flux")
        self.flux, self.jump = flux, dict(jump or {})

    @property
    def place(self) -> str:
        """The plane's coordinate."""
        return self.coordinate

    def sites(self, domain: Domain, count: int, draw: Draw) -> Sites:
        """Pairs of points, before and behind the plane."""
        if self.coordinate not in domain.names:
            raise ProblemError(
                f"Interface: {self.coordinate!r} is no coordinate: the domain has "
                f"{', '.join(domain.names)}"
            )
        low, high = domain.interval(self.coordinate)
        if not low < self.value < high:
            raise ProblemError(
                f"Interface: {self.coordinate} = {self.value:g} does not lie inside the domain, "
                f"which has {low:g} to {high:g}"
            )
        axis = domain.names.index(self.coordinate)
        free = domain.dimensions - 1
        unit = draw(max(count // 2, 1) if free else 1, free)
        points = domain.place(np.insert(unit, axis, 0.0, axis=1))
        points[:, axis] = self.value
        pairs = np.repeat(points, 2, axis=0)
        sides = np.tile([-1.0, 1.0], len(points))
        extra = {
            f"normal_{n}": np.full(len(pairs), float(n == self.coordinate)) for n in domain.names
        }
        return Sites(pairs, extra | {NUDGE + self.coordinate: sides * max(abs(low), abs(high))})

    def residual(
        self,
        fields: Mapping[str, Any],
        coordinates: Mapping[str, Any],
        extra: Mapping[str, Tensor],
    ) -> dict[str, Any]:
        """What is behind the plane less what is before it, and less the jump, shape (N / 2,)."""
        what = f"Interface {self.coordinate} = {self.value:g}"
        unknown = next((name for name in self.continuous or () if name not in fields), None)
        if unknown is not None:
            raise ProblemError(
                f"{what}: {unknown!r} is no field: the problem has {', '.join(fields)}"
            )
        names = fields if self.continuous is None else self.continuous
        found = {name: fields[name] for name in names}
        if self.flux is not None:
            normals = {key: column for key, column in extra.items() if not key.startswith(NUDGE)}
            available = {**fields, **coordinates, **normals}
            flux = call_by_name(self.flux, available, f"{what}, flux", self.settings)
            found |= results_by_name(flux, "flux", what)
        unknown = next((name for name in self.jump if name not in found), None)
        if unknown is not None:
            raise ProblemError(
                f"{what}: a jump of {unknown!r}, which is none of {', '.join(found)}"
            )
        behind = {name: at.value[1::2] for name, at in coordinates.items()}
        return {
            name: self._step(quantity, f"{what}, {name}", extra)
            - prescribed(self.jump.get(name, 0.0), behind, f"{what}, jump of {name}",
                         self.settings, fields)
            for name, quantity in found.items()
        }  # fmt: skip

    @staticmethod
    def _step(quantity: Any, what: str, extra: Mapping[str, Tensor]) -> Any:
        """The value behind the plane less that before it."""
        shape = next(iter(extra.values())).shape
        values = getattr(quantity, "value", quantity)
        if getattr(values, "shape", None) != shape:
            raise ProblemError(
                f"{what} must have shape {tuple(shape)}, not "
                f"{tuple(values.shape) if isinstance(values, Tensor) else f'{values!r:.60}'}"
            )
        return values[1::2] - values[::2]
