"""What a condition is: where its points lie, and its residual there."""

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pinnsig.core.errors import ProblemError
from pinnsig.core.names import parse_quantity
from pinnsig.geometry import Domain, Draw, Part
from pinnsig.problem.binding import call_by_name, needed_names

INTERIOR = "residual"
"""The name under which the collocation points and the PDE's own residuals stand."""

GROUPS = ("initial", "boundary", "interface", "integral", "data")
"""What conditions belong to; the first three draw on the run's counts of points."""

WEIGHTS = "weights of points"
"""The column that holds factors on the squared residuals, by point."""

NUDGE = "nudge of "
"""Begins the names of columns by which points on an interface move to their own side."""
NUDGE_STEPS = 16  # roundings of a coordinate: code that tells sides apart makes a few of its own

Array = NDArray[np.float64]
Value = float | Callable[..., Any]
"""What a condition prescribes: a number, or a function of coordinates, the outward normal's
components (normal_x) and coefficients by name."""


@dataclass(frozen=True)
class Sites:
    """The points of one term, and what its residual has to know at each of them.

    Attributes:
        points: shape (N, dimensions), columns in the order of the domain's coordinates.
        extra: further columns by name, each of shape (N,).
    """

    points: Array
    extra: dict[str, Array] = field(default_factory=dict)

    def tensors(
        self, names: Sequence[str], like: Tensor, rows: slice = slice(None)
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return points and columns as tensors, copies in the type and on the device of `like`.

        Args:
            names: of the coordinates. Along each that has a column `NUDGE` + name, points move by
                that many times the least distance that numbers of the type tell apart safely.
            like: as above.
            rows: which of the points.
        """
        points = torch.tensor(self.points[rows]).to(like)
        extra = {key: torch.tensor(column[rows]).to(like) for key, column in self.extra.items()}
        step = NUDGE_STEPS * torch.finfo(like.dtype).eps
        for axis, name in enumerate(names):
            if NUDGE + name in extra:
                points[:, axis] += step * extra[NUDGE + name]
        return points, extra


class Condition(ABC):
    """Base of all conditions; a new one implements `sites` and `residual`.

    Attributes:
        group: one of `GROUPS`; interfaces share the boundary's count of points.
        stride: how many neighbouring points belong together and stay in one chunk.
        differentiable: whether its residual gets coordinates of which partials can be taken, as the
            residual of the PDE does; else plain tensors.
        hard: whether it is met exactly, so that it is no term of a loss.
        makes_features: whether it is so by the network's inputs, else by an ansatz.
        outside: whether its points may lie outside the domain.
        name: its term's name in the loss; None means its group's.
        settings: the problem's coefficients and choices by name, once it is `bound`.
        functions: names of the problem's unknown functions then, which stand among the fields.
    """

    group: str
    stride: int = 1
    differentiable: ClassVar[bool] = False
    hard: bool = False
    makes_features: ClassVar[bool] = False
    outside: bool = False
    settings: Mapping[str, Any] = MappingProxyType({})
    functions: tuple[str, ...] = ()

    def __init__(self, name: str | None = None) -> None:
        if name is not None and (not isinstance(name, str) or not name.strip() or "=" in name):
            raise ProblemError(
                f"{type(self).__name__}: name={name!r} cannot be: it must be a word, such as 'wall'"
            )
        self.name = name

    def bound(self, domain: Domain, settings: Mapping[str, Any]) -> Self:
        """Return the condition as one of a problem, whose settings its functions may name."""
        del domain
        other = copy.copy(self)
        other.settings = settings
        return other

    def notice(self, domain: Domain) -> str | None:
        """What a user should know of it before training, if there is anything."""
        del domain
        return None

    @property
    def given(self) -> bool:
        """Whether its points are given, and stay as they are."""
        return self.group == "data"

    @property
    def place(self) -> str:
        """Where it holds, as a part of its term's name where its group has several."""
        on = getattr(self, "on", None)
        each = (on,) if isinstance(on, str) or callable(on) else on or ()
        return "_".join(o for o in each if isinstance(o, str))

    def parts(self, domain: Domain) -> tuple[Part, ...]:
        """The boundary parts it holds on; none for a condition with points of its own."""
        del domain
        return ()

    @abstractmethod
    def sites(self, domain: Domain, count: int, draw: Draw) -> Sites:
        """Its points; about `count` of them, placed from points of the unit cube."""

    @abstractmethod
    def residual(
        self,
        fields: Mapping[str, Any],
        coordinates: Mapping[str, Tensor],
        extra: Mapping[str, Tensor],
    ) -> dict[str, Any]:
        """Its residuals by name, each of shape (N,), from fields that know their partials."""


def real_tensor(values: Tensor, what: str) -> Tensor:
    """The same tensor if it holds real numbers.

    Raises:
        ProblemError: it holds complex or whole numbers, or truth values.
    """
    if values.is_complex():
        raise ProblemError(
            f"{what} is complex ({values.dtype}): give its real and imaginary parts as two"
        )
    if not values.is_floating_point():
        raise ProblemError(
            f"{what} holds no real numbers but {values.dtype}: make it one with .to(x.dtype), or "
            "torch.where(condition, a, b)"
        )
    return values


def plain_number(value: Any, what: str = "a position") -> float:
    """Return a number that no gradient is to flow into, such as where a plane lies.

    Raises:
        ProblemError: it is none, or not finite.
    """
    try:
        number = float(value.detach() if isinstance(value, Tensor) else value)
    except (TypeError, ValueError, RuntimeError):
        number = math.nan
    if isinstance(value, bool | str) or not math.isfinite(number):
        raise ProblemError(f"{what} is a finite number, not {value!r:.60}")
    return number


def prescribed(
    value: Value,
    coordinates: Mapping[str, Tensor],
    what: str,
    settings: Mapping[str, Any] | None = None,
    fields: Iterable[str] = (),
) -> Tensor | float:
    """Return a prescribed value at the points: a number, or a tensor of shape (N,).

    Args:
        value: a number, or a function of coordinates, coefficients and choices.
        coordinates: by name, each of shape (N,).
        what: what it is called in an error.
        settings: coefficients and choices by name.
        fields: names that no value can depend on.

    Raises:
        ProblemError: anything but a number, or a function that returns a number or N values.
    """
    if not callable(value):
        if isinstance(value, Tensor) and value.ndim == 0:
            return real_tensor(value, f"{what}: its value")
        if isinstance(value, Real) and not isinstance(value, bool):
            return value  # type: ignore[return-value]
        raise ProblemError(f"{what}: a value is a number or a function, not {value!r:.60}")
    read = [name for name in needed_names(value) if name in fields]
    if read:
        raise ProblemError(
            f"{what}: a value cannot depend on the field {read[0]}: write the whole condition as a "
            f'residual, such as On("x+", lambda {read[0]}: {read[0]}.x + {read[0]}**4)'
        )
    # copies: what a function does to its arguments is its own affair
    own = {name: column.clone() for name, column in coordinates.items()}
    result = call_by_name(value, own, what, settings)
    if isinstance(result, Real) and not isinstance(result, bool):
        return float(result)
    if isinstance(result, Tensor) and result.ndim == 0:  # as a learned coefficient is
        return result
    shape = next((column.shape for column in coordinates.values()), ())
    if not isinstance(result, Tensor) or result.shape != shape:
        found = tuple(result.shape) if isinstance(result, Tensor) else type(result).__name__
        hint = ": compute it with torch's functions" if isinstance(result, np.ndarray) else ""
        raise ProblemError(f"{what}: its value must have shape {tuple(shape)}, not {found}{hint}")
    return real_tensor(result, f"{what}: its value")


def read_target(fields: Mapping[str, Any], target: str, coordinates: Iterable[str]) -> Any:
    """Return the field that a keyword names (u), or a partial derivative of it (u_t, u_xx).

    Args:
        fields: by name.
        target: the keyword.
        coordinates: their names.

    Raises:
        DerivativeError: it names neither.
    """
    if target in fields:
        return fields[target]
    field, alpha = parse_quantity(target, tuple(fields), tuple(coordinates))
    return fields[field].shifted(alpha)


def results_by_name(result: Any, name: str, what: str) -> dict[str, Any]:
    """Return what a residual gave, by name: a dict as it is, several as name_1, name_2, ...

    Args:
        result: of a user's function.
        name: of a single one.
        what: what the function is called in an error.

    Raises:
        ProblemError: a key that is no text.
    """
    if isinstance(result, tuple | list):
        return {f"{name}_{i}": r for i, r in enumerate(result, start=1)}
    if not isinstance(result, Mapping):
        return {name: result}
    for key in result:
        if not isinstance(key, str) or not key.strip() or "=" in key:
            raise ProblemError(f"{what}: {key!r} cannot be the name of a residual: use a word")
    return dict(result)
