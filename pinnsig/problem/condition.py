"""What a condition is: where its points lie, and its residual there."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from pinnsig.errors import ProblemError
from pinnsig.problem.binding import call_by_name
from pinnsig.problem.domain import Box, Face

Array = NDArray[np.float64]
Draw = Callable[[int, int], Array]
"""`draw(n, dimensions)`: n points of the unit cube, shape (n, dimensions)."""

Value = float | Callable[..., Any]
"""What a condition prescribes: a number, or a function of coordinates by their names."""


@dataclass(frozen=True)
class Sites:
    """The points of one term, and what its residual has to know at each of them.

    Attributes:
        points: shape (N, dimensions), columns in the order of the domain's coordinates.
        extra: further columns by name, each of shape (N,).
    """

    points: Array
    extra: dict[str, Array] = field(default_factory=dict)


class Condition(ABC):
    """Base of all conditions; a new one implements `sites` and `residual`.

    Attributes:
        group: which of the run's point counts it draws on: initial, boundary or data.
        stride: how many neighbouring points belong together and stay in one chunk.
        name: its term's name in the loss; None means its group's.
    """

    group: ClassVar[str]
    stride: ClassVar[int] = 1

    def __init__(self, name: str | None = None) -> None:
        self.name = name

    def faces(self, domain: Box) -> tuple[Face, ...]:
        """The faces it holds on; none for a condition with points of its own."""
        del domain
        return ()

    @abstractmethod
    def sites(self, domain: Box, count: int, draw: Draw) -> Sites:
        """Its points; about `count` of them, placed from points of the unit cube."""

    @abstractmethod
    def residual(
        self,
        fields: Mapping[str, Any],
        coordinates: Mapping[str, Tensor],
        extra: Mapping[str, Tensor],
    ) -> dict[str, Any]:
        """Its residuals by name, each of shape (N,), from fields that know their partials."""


def split_evenly(count: int, parts: int) -> list[int]:
    """Split a count into whole parts that differ by at most one."""
    return [count // parts + (part < count % parts) for part in range(parts)]


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


def prescribed(value: Value, coordinates: Mapping[str, Tensor], what: str) -> Tensor | float:
    """A prescribed value at the points: a number, or a tensor of shape (N,).

    Raises:
        ProblemError: anything but a number, or a function that returns a number or N values.
    """
    if not callable(value):
        if isinstance(value, Tensor) and value.ndim == 0:
            return real_tensor(value, f"{what}: its value")
        if isinstance(value, Real) and not isinstance(value, bool):
            return value  # type: ignore[return-value]
        raise ProblemError(f"{what}: a value is a number or a function, not {value!r:.60}")
    # copies: what a function does to its arguments is its own affair
    own = {name: column.clone() for name, column in coordinates.items()}
    result = call_by_name(value, own, what)
    if isinstance(result, Real) and not isinstance(result, bool):
        return float(result)
    shape = next(iter(coordinates.values())).shape
    if not isinstance(result, Tensor) or result.shape != shape:
        found = tuple(result.shape) if isinstance(result, Tensor) else type(result).__name__
        hint = ": compute it with torch's functions" if isinstance(result, np.ndarray) else ""
        raise ProblemError(f"{what}: its value must have shape {tuple(shape)}, not {found}{hint}")
    return real_tensor(result, f"{what}: its value")


def read_target(fields: Mapping[str, Any], target: str) -> Any:
    """The field that a keyword names (u), or a partial derivative of it (u_t, u_xx).

    Raises:
        ProblemError: it names neither.
    """
    if target in fields:
        return fields[target]
    for name in sorted(fields, key=len, reverse=True):  # a field's own name may hold a "_"
        if target.startswith(f"{name}_"):
            return getattr(fields[name], target.removeprefix(f"{name}_"))
    raise ProblemError(
        f"{target!r} is no field: the problem has {', '.join(fields)} "
        "(a partial derivative is written u_t, u_xx)"
    )
