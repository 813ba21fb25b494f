"""Calls of torch's and numpy's functions with jets."""

import inspect
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from pinnsig.core.errors import DerivativeError
from pinnsig.derivatives.algebra import Algebra, plain
from pinnsig.derivatives.compositions import COMPOSITIONS, where
from pinnsig.derivatives.operations import FUNCTIONS
from pinnsig.derivatives.plan import Alpha
from pinnsig.derivatives.steps import NUMBERS
from pinnsig.derivatives.symbols import Mask, Symbol


class TorchFunctions(Algebra):
    """What makes a jet an argument of torch's functions; base of `Jet`."""

    __slots__ = ()

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Let torch's functions take jets: those of the algebra give jets."""
        jet = found_in((args, kwargs or {}), TorchFunctions)[0]
        return jet.call(func, getattr(func, "__name__", "").strip("_"), args, kwargs or {})

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Numpy's numbers take part in arithmetic; numpy's functions and arrays do not."""
        name = _OPERATORS.get(ufunc.__name__)
        single = all(isinstance(value, (*NUMBERS, TorchFunctions)) for value in inputs)
        if method == "__call__" and single and name and len(inputs) == 2 and not kwargs:
            return getattr(self.lift(inputs[0]), name)(inputs[1])
        raise DerivativeError(
            f"numpy's {ufunc.__name__} cannot be used with fields and coordinates: write "
            f"torch.{ufunc.__name__}, and torch.as_tensor(...) for arrays"
        )

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise DerivativeError(
            "a field or coordinate is no array of numpy's: write torch's functions, such as "
            "torch.sin(u)"
        )

    def call(self, func: Any, name: str, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """One of torch's functions; self is any jet among the arguments."""
        given = {k: v for k, v in kwargs.items() if _IDLE.get(k, ...) != v}
        if name in FUNCTIONS and len(args) == 1 and not given:
            return args[0].apply(FUNCTIONS[name])
        if name in _OPERATORS and len(args) == 2 and not given:
            left = self.lift(args[0])
            return NotImplemented if left is None else getattr(left, _OPERATORS[name])(args[1])
        if name == "where" and len(args) == 3 and not given:
            condition, a, b = args if _is_mask(args[0]) else (args[1], args[0], args[2])
            a, b = self.lift(a), self.lift(b)
            if a is not None and b is not None:
                return where(plain(condition), a, b)
        if name in COMPOSITIONS and (found := self._composed(name, args, given)) is not None:
            return found
        return self.without_partials(name, func(*plain(args), **plain(kwargs)))

    def _composed(self, name: str, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """A function made of others; None where its arguments are not those."""
        function = COMPOSITIONS[name]
        lifted = [None if value is None else self.lift(value) for value in args]
        named = {key: None if v is None else self.lift(v) for key, v in kwargs.items()}
        try:
            inspect.signature(function).bind(*lifted, **named)
        except TypeError:
            return None
        given = [value for value in (*args, *kwargs.values()) if value is not None]
        if not all(
            isinstance(value, (*NUMBERS, Tensor, Symbol, TorchFunctions)) for value in given
        ):
            return None
        return function(*lifted, **named)

    def without_partials(self, name: str, result: Any) -> Any:
        """What a function of the plain values gave, as a jet that has no partials."""
        if not isinstance(result, Tensor) or result.shape != self.like.shape:
            return result
        if not result.is_floating_point():
            return result

        def part(alpha: Alpha) -> Tensor:
            if any(alpha):
                raise DerivativeError(
                    f"a partial is read of torch.{name}(...), which has none here: write it with "
                    f"other functions; those with partials are {', '.join(sorted(_KNOWN))}"
                )
            return result

        return self.with_parts(part)


_OPERATORS = {
    "add": "__add__", "radd": "__radd__", "sub": "__sub__", "subtract": "__sub__",
    "rsub": "__rsub__", "mul": "__mul__", "multiply": "__mul__", "rmul": "__rmul__",
    "div": "__truediv__", "divide": "__truediv__", "true_divide": "__truediv__",
    "truediv": "__truediv__", "rtruediv": "__rtruediv__", "rdiv": "__rtruediv__",
    "pow": "__pow__", "rpow": "__rpow__", "power": "__pow__",
    "float_power": "__pow__",
}  # fmt: skip


_IDLE = {"inplace": False, "out": None, "rounding_mode": None, "approximate": "none", "alpha": 1}
"""Keywords that say nothing."""
_KNOWN = {name for name in (*FUNCTIONS, *COMPOSITIONS, "where") if not name.startswith("special_")}


def found_in(value: Any, cls: type[Any]) -> list[Any]:
    """Return all that is of one type in a structure of tuples, lists and dicts."""
    found, pending = [], [value]
    while pending:
        item = pending.pop()
        if isinstance(item, cls):
            found.append(item)
        elif isinstance(item, tuple | list):
            pending.extend(reversed(item))
        elif isinstance(item, dict):
            pending.extend(reversed(item.values()))
    return found


def _is_mask(value: Any) -> bool:
    return isinstance(value, Mask) or (isinstance(value, Tensor) and value.dtype == torch.bool)
