"""Programs on columns of numbers while they are written down, step by step."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pinnsig.derivatives.operations import OPERATIONS

NUMBERS = (int, float, np.integer, np.floating)

COMPUTING = tuple(operation for operation in OPERATIONS if operation.value)
"""What a step may compute; two others read: a partial of an output, or a column."""
CODE = {name: code for code, name in enumerate(["leaf", "column", *(o.name for o in COMPUTING)])}
OPERANDS = ("", "", *(operation.operands for operation in COMPUTING))
"""By code, which operands are steps and which are numbers: see `Operation.operands`."""

STEP = 4
Step = tuple[int, ...]
"""Code of the operation and three operands: places of earlier steps, or of what is read."""


class UntraceableError(Exception):
    """Something is asked of a symbol that only values can answer."""


class Steps:
    """The steps of a program.

    Args:
        like: a tensor of shape (N,) that sets shape, dtype and device of all columns.

    Attributes:
        steps: each one's value is a column of N numbers.
        numbers: constants of the program.
        columns: tensors of shape (N,) that it reads.
        differentiable: which number is which tensor of shape () that gradients flow into.
    """

    def __init__(self, like: Tensor) -> None:
        self.like = like
        self.with_gradient = torch.is_grad_enabled()
        self.steps: list[Step] = []
        self.numbers: list[float] = []
        self.columns: list[Tensor] = []
        self.differentiable: dict[int, Tensor] = {}
        self._places: dict[Step, int] = {}
        self._given: list[Tensor] = []  # the columns as the code has them
        self._versions: list[int] = []

    def add(self, name: str, a: int, b: int = 0, c: int = 0) -> int:
        """Write a step down, unless it stands there already; return its place."""
        if torch.is_grad_enabled() is not self.with_gradient:
            raise UntraceableError("gradients that are switched on or off")
        step = (CODE[name], a, b, c)
        place = self._places.get(step)
        if place is None:
            place = self._places[step] = len(self.steps)
            self.steps.append(step)
        return place

    def number(self, value: Any) -> int | None:
        """The place of a number, or None if it is none."""
        if isinstance(value, NUMBERS):
            self.numbers.append(float(value))
        elif isinstance(value, Tensor) and value.ndim == 0 and value.is_floating_point():
            self.numbers.append(float(value.detach()))
            if value.requires_grad and self.with_gradient:
                self.differentiable[len(self.numbers) - 1] = value
        else:
            return None
        return len(self.numbers) - 1

    def column(self, value: Any) -> int:
        """The step that reads a column, or that a symbol stands for."""
        if getattr(value, "trace", None) is self:
            return value.place
        like = self.like
        if (
            not isinstance(value, Tensor)
            or value.shape != like.shape
            or value.device != like.device
            or torch.promote_types(value.dtype, like.dtype) != like.dtype
        ):
            raise UntraceableError(f"an operand of type {type(value).__name__}")
        for place, known in enumerate(self._given):
            if known is value:
                return self.add("column", place)
        self.columns.append(value.to(like.dtype))
        self._given.append(value)
        self._versions.append(value._version)
        return self.add("column", len(self.columns) - 1)

    def operand(self, value: Any) -> int:
        """The step of a column, or of a number at every point."""
        if getattr(value, "trace", None) is self:
            return value.place
        number = self.number(value)
        return self.column(value) if number is None else self.add("number", number)

    def close(self, results: Sequence[Any]) -> list[int]:
        """The steps of the results, once everything is written down."""
        places = [self.column(result) for result in results]
        if [column._version for column in self._given] != self._versions:
            raise UntraceableError("a change in place")
        return places
