"""Conditions between regions whose equations or coefficients differ."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from pinnsig.core.errors import ProblemError
from pinnsig.core.types import PointArray
from pinnsig.geometry import Domain, Draw, Interval
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

TRIES = 100  # rounds of points on a surface that may lie outside the domain


class Interface(Condition):
    """Fields and fluxes agree on the two sides of a surface inside the domain, or jump.

    `Interface(at={"y": 0.4}, flux=lambda u, y, k: k(y) * u.y)` makes all fields continuous, and
    the flux, on a plane; `Interface(on=Disc(radius=0.5), ...)` on a circle, at all times. A flux's
    parameters are found by their names, as those of a residual, with the normal's components among
    them (normal_x). Every point comes as two, one on either side, as near to each other as the
    run's numbers can tell apart: code that knows its region by the coordinates (`by_region`,
    `torch.where(y < 0.4, ...)`), in an ansatz, a residual or a flux, gives each its own. The fields
    need an output of the network for each region:

        def ansatz(self, n1, n2, y):
            return by_region(y - 0.4, n1, n2)

    Args:
        at: the coordinate and its value on a plane. The normal points to larger values.
        on: a shape, whose boundary is the surface as far as it lies in the domain. The normal
            points out of the shape.
        continuous: names of the fields that do not jump, or jump as said; None for all.
        flux: what else is continuous, several in a dict or tuple.
        jump: by the name of a field or flux ("flux", "flux_1", ...), its value behind the surface,
            where the normal points, less that before it; a number, or a function of coordinates,
            coefficients and choices. 0 where not given.
        name: of its term.

    Raises:
        ProblemError: no surface, or nothing that is to agree.
    """

    group = "interface"
    stride = 2
    differentiable = True

    def __init__(
        self,
        *,
        at: Mapping[str, float] | None = None,
        on: Domain | None = None,
        continuous: str | Sequence[str] | None = None,
        flux: Callable[..., Any] | None = None,
        jump: Mapping[str, Value] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        surface = on if at is None else _plane(at)
        if not isinstance(surface, Domain) or (at is None) == (on is None):
            raise ProblemError(
                "Interface: it lies on a plane, at={'y': 0.4}, or on a shape, on=Disc(radius=0.5)"
            )
        if flux is not None and not callable(flux):
            raise ProblemError(
                f"Interface: a flux is a function, such as lambda u: 2.0 * u.y, not {flux!r:.60}"
            )
        self.at, self.surface = at, surface
        named = (continuous,) if isinstance(continuous, str) else continuous
        self.continuous = None if named is None else tuple(named)
        if self.continuous == () and flux is None:
            raise ProblemError("Interface: nothing is continuous: name fields, or give a flux")
        self.flux, self.jump = flux, dict(jump or {})

    @property
    def place(self) -> str:
        """The plane's coordinate."""
        return "" if self.at is None else self.surface.names[0]

    @property
    def what(self) -> str:
        """What it is called in an error."""
        if self.at is None:
            return f"Interface on {self.surface}"
        return f"Interface {self.surface.names[0]} = {self.surface.upper[0]:g}"

    def sites(self, domain: Domain, count: int, draw: Draw) -> Sites:
        """Pairs of points, before and behind the surface."""
        own = self.surface.names
        unknown = next((name for name in own if name not in domain.names), None)
        if unknown is not None:
            raise ProblemError(
                f"Interface: {unknown!r} is no coordinate: the domain has {', '.join(domain.names)}"
            )
        wanted = max(count // 2, 1) if domain.dimensions > 1 else 1
        points, normals = self._inside(domain, wanted, draw)
        pairs, along = np.repeat(points, 2, axis=0), np.repeat(normals, 2, axis=0)
        axes = {name: domain.names.index(name) for name in domain.names}
        extra = {f"normal_{name}": along[:, axis].copy() for name, axis in axes.items()}
        mine = [axes[name] for name in own]
        size = np.abs([domain.lower[mine], domain.upper[mine]]).max()
        sides = np.tile([-size, size], len(points))
        extra |= {NUDGE + name: sides * along[:, axes[name]] for name in own}
        return Sites(pairs, extra)

    def _inside(self, domain: Domain, count: int, draw: Draw) -> tuple[PointArray, PointArray]:
        """Points of the surface inside the domain, uniform in the other coordinates; normals."""
        others = [i for i, name in enumerate(domain.names) if name not in self.surface.names]
        mine = [domain.names.index(name) for name in self.surface.names]
        kept: list[tuple[PointArray, PointArray]] = []
        for _ in range(TRIES):
            on_surface, outward = self._on_surface(count, draw)
            points = np.zeros((len(on_surface), domain.dimensions))
            normals = np.zeros_like(points)
            points[:, mine], normals[:, mine] = on_surface, outward
            unit = draw(len(points), len(others)) if others else np.zeros((len(points), 0))
            points, normals = points[: len(unit)], normals[: len(unit)]
            low, high = domain.lower[others], domain.upper[others]
            points[:, others] = low * (1.0 - unit) + high * unit
            # within rounding of the boundary there is no room for either side
            room = 1e-6 * (domain.upper - domain.lower)
            near = (points - domain.lower <= room) | (domain.upper - points <= room)
            there = domain.contains(points) & ~near[:, mine].any(axis=1)
            kept.append((points[there], normals[there]))
            if sum(len(own) for own, _ in kept) >= min(count, len(points)):
                break
        points, normals = (np.concatenate(part)[:count] for part in zip(*kept, strict=True))
        if not len(points):
            raise ProblemError(f"{self.what} does not lie inside the domain {domain}")
        return points, normals

    def _on_surface(self, count: int, draw: Draw) -> tuple[PointArray, PointArray]:
        """Points of the surface, and the unit normals there, which tell the sides apart."""
        if self.at is not None:
            return np.full((count, 1), self.surface.upper[0]), np.ones((count, 1))
        points, normals = self.surface.sample_parts(self.surface.sides, count, draw)
        order = np.argsort(draw(len(points), 1)[:, 0], kind="stable")  # parts in any order
        return points[order], normals[order]

    def residual(
        self,
        fields: Mapping[str, Any],
        coordinates: Mapping[str, Any],
        extra: Mapping[str, Tensor],
    ) -> dict[str, Any]:
        """What is behind the plane less what is before it, and less the jump, shape (N / 2,)."""
        what = self.what
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


def _plane(at: Any) -> Domain:
    """The half line below a plane, whose end is the plane."""
    if not isinstance(at, Mapping) or len(at) != 1:
        raise ProblemError(f"Interface: at={at!r} must be one coordinate, such as at={{'y': 0.4}}")
    ((name, value),) = at.items()
    end = plain_number(value)
    return Interval(**{name: (end - max(abs(end), 1.0), end)})
