"""What a condition is: where its points lie, and its residual there."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from pinnsig.core.errors import ProblemError
from pinnsig.core.names import parse_quantity
from pinnsig.geometry import Domain, Draw, Part
from pinnsig.problem.binding import call_by_name, needed_names

INTERIOR = "residual"
"""The name under which the collocation points and the PDE's own residuals stand."""

GROUPS = ("initial", "boundary", "data")
"""What conditions belong to; the first two have a count of points each."""

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


class Condition(ABC):
    """Base of all conditions; a new one implements `sites` and `residual`.

    Attributes:
        group: which of the run's point counts it draws on: initial, boundary or data.
        stride: how many neighbouring points belong together and stay in one chunk.
        differentiable: whether its residual gets coordinates of which partials can be taken, as the
            residual of the PDE does; else plain tensors.
        hard: whether it is met exactly, so that it is no term of a loss.
        makes_features: whether it is so by the network's inputs, else by an ansatz.
        outside: whether its points may lie outside the domain.
        name: its term's name in the loss; None means its group's.
        settings: the problem's coefficients and choices by name, once it is `bound`.
    """

    group: str
    stride: ClassVar[int] = 1
    differentiable: ClassVar[bool] = False
    hard: bool = False
    makes_features: ClassVar[bool] = False
    outside: bool = False
    settings: Mapping[str, Any] = MappingProxyType({})

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
    shape = next(iter(coordinates.values())).shape
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
