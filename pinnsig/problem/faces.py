"""Conditions on faces of the domain, and `On`: any residual there."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from pinnsig.core.errors import ProblemError
from pinnsig.geometry import Box, Face
from pinnsig.problem.binding import call_by_name
from pinnsig.problem.condition import (
    Condition,
    Draw,
    Sites,
    results_by_name,
    split_evenly,
)

Place = str | Sequence[str]


class FaceCondition(Condition):
    """Holds on the faces that `on` names: "x" both sides, "x-" and "x+" single ones."""

    group = "boundary"

    def __init__(self, on: Place | None, name: str | None) -> None:
        super().__init__(name)
        self.on = on

    def faces(self, domain: Box) -> tuple[Face, ...]:
        """The faces that `on` names."""
        return domain.faces(() if self.on is None else self.on)

    def normals(self, domain: Box) -> tuple[str, ...]:
        """Coordinates along which its residual needs the normal: those of its faces."""
        return tuple(dict.fromkeys(face.coordinate for face in self.faces(domain)))

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
            for name in self.normals(domain)
        }
        return Sites(np.concatenate(points), normals)


class On(FaceCondition):
    """Any residual on faces: `On("x+", lambda u: u.x + u**4)`.

    The function's parameters are found by their names, as those of `Problem.residual`: fields and
    coordinates, the outward normal's components (normal_x, normal_y), coefficients and choices.
    It gives a residual of shape (N,), or several in a dict or tuple, which make one term.

    Args:
        on: the faces. Where it is the start of time alone, points count as initial ones.
        residual: zero for a solution.
        name: of its term.
    """

    differentiable = True

    def __init__(self, on: Place, residual: Callable[..., Any], *, name: str | None = None) -> None:
        super().__init__(on, name)
        if not callable(residual):
            raise ProblemError(
                f"On {on}: a residual is a function, such as lambda u: u.x + u**4, "
                f"not {residual!r:.60}"
            )
        self.function = residual

    def bound(self, domain: Box, settings: Mapping[str, Any]) -> "On":
        """See `Condition.bound`; the group is known from here on."""
        other = super().bound(domain, settings)
        if self.faces(domain) == (Face(str(domain.time), upper=False),):
            other.group = "initial"
        return other

    def normals(self, domain: Box) -> tuple[str, ...]:
        """All coordinates, for the function may name any."""
        return domain.names

    def residual(
        self,
        fields: Mapping[str, Any],
        coordinates: Mapping[str, Any],
        extra: Mapping[str, Tensor],
    ) -> dict[str, Any]:
        """What the function gives."""
        what = f"On {self.on}"
        available = {**fields, **coordinates, **extra}
        result = call_by_name(self.function, available, what, self.settings)
        return results_by_name(result, "residual", what)
