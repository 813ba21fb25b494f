"""Following a problem's code, operation by operation: which one reads several points at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from pinnsig.derivatives.calls import found_in

NAMES = {
    "select": "indexing", "slice": "indexing", "index": "indexing", "index_select": "indexing",
    "gather": "indexing", "take": "indexing", "narrow": "indexing", "unbind": "iteration",
    "split": "splitting", "local_scalar_dense": "item", "linalg_vector_norm": "norm",
    "amax": "max", "amin": "min", "mm": "matmul", "mv": "matmul", "dot": "matmul",
    "bmm": "matmul", "addmm": "matmul", "addmv": "matmul", "log_softmax": "softmax",
    "to_copy": "to",
}  # fmt: skip
"""Names that people use, of those that torch has within."""

EXACT = 1e-12
"""Rounding of one operation, relative to the largest number in its result."""


@dataclass(frozen=True)
class PerPoint:
    """A tensor with a row for each point: `unit` times as many as groups, along `dim`."""

    dim: int
    unit: int


@dataclass(frozen=True)
class Mixed:
    """A tensor that depends on several points at once, by an operation of that name."""

    operation: str


class Watch(TorchDispatchMode):
    """Follows what is computed from columns of points.

    Each operation on them is done once more on either half of the points: where the halves of its
    result are not the results of the halves, it has mixed points. What is computed from its result
    is mixed, too. Masks (`u[u > 0]`) are not followed.

    Args:
        groups: how many groups of points there are, a number that nothing else is as large as.

    Attributes:
        read: the operation behind a number that Python code got, but for truth values.
        random: the operation that drew random numbers.
        rounded: the operation that took numbers rounded to fewer digits than its others have.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else torch loads its compiler, for a second, at the first operation

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups
        order = torch.randperm(groups, generator=torch.Generator().manual_seed(1))
        self.halves = [order[: groups // 2], order[groups // 2 :]]
        self.read: str | None = None
        self.random: str | None = None
        self.rounded: str | None = None
        self._known: dict[int, tuple[Tensor, PerPoint | Mixed | None]] = {}

    def follow(self, column: Tensor) -> Tensor:
        """Take a tensor as one with a row for each point."""
        self._note(column, PerPoint(0, len(column) // self.groups))
        return column

    def mixed(self, tensor: Tensor) -> str | None:
        """The operation by which a tensor depends on several points, if it does."""
        state = self._known.get(id(tensor), (None, None))[1]
        return state.operation if isinstance(state, Mixed) else None

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Do the operation, and look at what it did."""
        kwargs = kwargs or {}
        own = str(func.overloadpacket.__name__).strip("_")
        name = NAMES.get(own, own)
        tensors = list(found_in((args, kwargs), Tensor))
        states = [self._known.get(id(t), (None, None))[1] for t in tensors]
        mixed = next((state for state in states if isinstance(state, Mixed)), None)
        followed = any(isinstance(state, PerPoint) for state in states)
        drawn = torch.Tag.nondeterministic_seeded in func.tags
        if drawn and self.random is None:
            self.random = name
        if self.rounded is None and _mixes_precisions(tensors):
            self.rounded = name
        apart = None
        if followed and mixed is None and not drawn and not _is_masked(name, tensors):
            apart = [self._on(half, func, args, kwargs) for half in self.halves]
        result = func(*args, **kwargs)
        if mixed and name == "item" and tensors[0].dtype != torch.bool:
            self.read = self.read or mixed.operation
        found = list(found_in(result, Tensor))
        for i, tensor in enumerate(found):
            if mixed is not None:
                self._note(tensor, mixed)
            elif not followed:
                self._note(tensor, self._by_shape(tensor))
            elif apart is None or drawn or name.startswith(("empty", "new_empty")):
                self._note(tensor, self._by_shape(tensor) if drawn or apart else None)
            elif any(part is not None for part in apart):
                parts = [p for p in apart if p is not None]
                if any(len(part) != len(found) for part in parts):  # one for each point
                    self._note(tensor, Mixed(name))
                    continue
                columns = [None if part is None else part[i] for part in apart]
                self._note(tensor, self._compared(tensor, columns, name))
        return result

    def _note(self, tensor: Tensor, state: PerPoint | Mixed | None) -> None:
        self._known[id(tensor)] = tensor, state  # kept, so that no other gets its id

    def _by_shape(self, tensor: Tensor) -> PerPoint | None:
        """A tensor made within the code, such as zeros, has rows if it has as many."""
        for dim, size in enumerate(tensor.shape):
            if size and size % self.groups == 0:
                return PerPoint(dim, size // self.groups)
        return None

    def _on(
        self, half: Tensor, func: Callable[..., Any], args: Any, kwargs: Any
    ) -> list[Tensor] | None:
        """The operation's results at some of the groups; None where it cannot be done there."""

        def part(value: Any, within: bool = False) -> Any:
            if isinstance(value, Tensor):
                state = self._known.get(id(value), (None, None))[1]
                if isinstance(state, PerPoint) and value.ndim > state.dim:
                    return value.index_select(state.dim, _rows(half, state.unit).to(value.device))
                return value.clone()  # an operation may write into it
            if isinstance(value, tuple | list):
                return type(value)(part(item, True) for item in value)
            if isinstance(value, dict):
                return {key: part(item) for key, item in value.items()}
            if within and type(value) is int and value and value % self.groups == 0:
                return value // self.groups * len(half)  # a size
            return value

        try:
            return list(found_in(func(*part(tuple(args)), **part(kwargs)), Tensor))
        except Exception:  # sizes that do not fit: values will tell
            return None

    def _compared(
        self, whole: Tensor, parts: Sequence[Tensor | None], name: str
    ) -> PerPoint | Mixed | None:
        pairs = [(h, p) for h, p in zip(self.halves, parts, strict=True) if p is not None]
        for dim, size in enumerate(whole.shape):
            unit, rest = divmod(size, self.groups)
            if rest or not unit:
                continue
            if all(
                part.shape == (*whole.shape[:dim], unit * len(half), *whole.shape[dim + 1 :])
                and _close(whole.index_select(dim, _rows(half, unit).to(whole.device)), part)
                for half, part in pairs
            ):
                return PerPoint(dim, unit)
        if all(part.shape == whole.shape and _close(whole, part) for _, part in pairs):
            return None
        return Mixed(name)


def _rows(groups: Tensor, unit: int) -> Tensor:
    """The rows of groups, `unit` neighbours each."""
    return (groups[:, None] * unit + torch.arange(unit)).flatten()


def _close(a: Tensor, b: Tensor) -> bool:
    if not (a.is_floating_point() or a.is_complex()):
        return torch.equal(a, b)
    finite = a[a.isfinite()].abs()
    scale = float(finite.max()) if finite.numel() else 0.0
    return torch.allclose(a, b, rtol=EXACT, atol=EXACT * scale, equal_nan=True)


def _is_masked(name: str, tensors: Sequence[Tensor]) -> bool:
    """Whether points are chosen by a mask, so that how many there are depends on values."""
    masks = name in ("indexing", "index_put") and any(t.dtype == torch.bool for t in tensors[1:])
    return masks or name in ("nonzero", "masked_select", "masked_scatter")


def _mixes_precisions(tensors: Sequence[Tensor]) -> bool:
    """Whether numbers of float32 that are no short ones (0, 1, 0.5) meet those of float64."""
    if not any(t.dtype == torch.float64 for t in tensors):
        return False
    low = [t for t in tensors if t.is_floating_point() and t.dtype != torch.float64]
    return any(not torch.equal(t, t.bfloat16().to(t.dtype)) for t in low if not t.isnan().any())
