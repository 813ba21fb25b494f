"""Stand-ins for values and parameters, which have a trace write down what is done to them."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_unflatten

from pinnsig.core.errors import DerivativeError

if TYPE_CHECKING:
    from pinnsig.networks.tracing import Trace

READING = {"item", "tolist", "numpy", "__float__", "__int__", "__bool__", "__index__"}
"""Ways from a tensor's numbers to Python's, where they may decide what `forward` does."""

Maker = Callable[[Sequence[Tensor]], Tensor]
"""Makes a tensor from the network's parameters."""


class CompositionError(DerivativeError):
    """A network's `forward` does something that no operation describes; the message says what."""


class Value:
    """The stand-in for a value, of shape (N, units)."""

    ndim = 2

    def __init__(self, trace: "Trace", index: int) -> None:
        self.trace, self.index = trace, index

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> "Value":
        del types
        flat = [*args, *(kwargs or {}).values()]
        trace = next((a.trace for a in flat if isinstance(a, Value)), None)
        if trace is None:  # in a list, as of torch.cat
            name = getattr(func, "__name__", str(func))
            raise CompositionError(f"it calls {name}, which is no operation that is known here")
        return trace.call(func, args, kwargs or {})

    def __add__(self, other: Any) -> "Value":
        return self.trace.sum(self, other)

    def __sub__(self, other: Any) -> "Value":
        return self.trace.difference(self, other)

    def __rsub__(self, other: Any) -> "Value":
        return self.trace.difference(other, self)

    def __mul__(self, other: Any) -> "Value":
        return self.trace.product(self, other)

    def __truediv__(self, other: Any) -> "Value":
        return self.trace.quotient(self, other)

    def __rtruediv__(self, other: Any) -> "Value":
        return self.trace.quotient(other, self)

    def __pow__(self, n: Any) -> "Value":
        return self.trace.power(self, n)

    def __matmul__(self, matrix: Any) -> "Value":
        return self.trace.matmul(self, matrix)

    def __neg__(self) -> "Value":
        return self.trace.negative(self)

    __radd__, __rmul__ = __add__, __mul__

    def __iadd__(self, other: Any) -> "Value":
        raise CompositionError("it changes a value in place")

    __isub__ = __imul__ = __itruediv__ = __ipow__ = __iadd__

    def __bool__(self) -> bool:
        raise CompositionError("a value decides what it does")

    def __getitem__(self, key: Any) -> "Value":
        raise CompositionError("it takes parts of a value")

    def __getattr__(self, name: str) -> Any:
        method = getattr(Tensor, name, None)
        if name.startswith("__") or not callable(method):
            raise CompositionError(f"it reads .{name} of a value")
        return lambda *args, **kwargs: self.trace.call(method, (self, *args), kwargs)


class Weight(Tensor):
    """The stand-in for a parameter, or for what is computed from parameters."""

    owner: "Trace"
    place: int | None
    make: Maker

    @staticmethod
    def parameter(trace: "Trace", like: Tensor, place: int) -> "Weight":
        """The stand-in for the parameter at that place."""
        return Weight._of(trace, like, place, lambda parameters: parameters[place])

    @staticmethod
    def _of(trace: "Trace", like: Tensor, place: int | None, make: Maker) -> "Weight":
        made = Tensor._make_subclass(Weight, like.detach())
        made.owner, made.place, made.make = trace, place, make
        return made

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        named: Mapping[str, Any] = kwargs or {}
        if any(isinstance(a, Value) for a in (*args, *named.values())):
            return Value.__torch_function__(func, types, args, named)
        name = getattr(func, "__name__", str(func))
        if name in READING:
            raise CompositionError("a parameter decides what it does")
        in_place = name.endswith("_") and not name.startswith("__")
        if in_place or name in ("__set__", "__setitem__"):
            raise CompositionError("it changes a parameter")
        with torch._C.DisableTorchFunctionSubclass():
            found = func(*args, **named)
        given, form = tree_flatten((tuple(args), dict(named)))  # also in a list, as of torch.cat
        weights = [a for a in given if isinstance(a, Weight)]
        if not weights:
            return found

        def make(parameters: Sequence[Tensor]) -> Any:
            real = (a.make(parameters) if isinstance(a, Weight) else a for a in given)
            args, named = tree_unflatten(list(real), form)
            return func(*args, **named)

        owner, (parts, shape) = weights[0].owner, tree_flatten(found)

        def part(i: int) -> Maker:
            return lambda parameters: tree_flatten(make(parameters))[0][i]

        stand_ins = (
            Weight._of(owner, p, None, part(i)) if isinstance(p, Tensor) else p
            for i, p in enumerate(parts)
        )
        return tree_unflatten(list(stand_ins), shape)


def described(given: Any) -> str:
    """What a value turned out to be instead of what was needed."""
    return "nothing" if given is None else f"a {type(given).__name__}"
