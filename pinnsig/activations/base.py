"""The common interface of all activations: value, exact slope at 0, derivatives up to order 5."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from numbers import Real
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.autograd import forward_ad

from pinnsig.core.errors import ActivationError

MAX_ORDER = 5
"""Highest derivative order that every activation gives."""


class Activation(ABC):
    """A smooth function f, immutable and compared by value.

    Subclasses are frozen dataclasses and give `slope`, `_format` and `_derivatives`; those in the
    paper's class F derive from `OddSigmoid`. Positive combinations are activations, too: `2 * f`,
    `f / 2`, `f + g`, and `f.stretch(a)` for f(a x). `str(f)` is the canonical expression.
    """

    suits: ClassVar[str] = "xavier"
    """The initialiser to name where `calibrated` cannot be."""

    @property
    @abstractmethod
    def slope(self) -> float:
        """f'(0), exact."""

    @property
    def bound(self) -> float:
        """sup |f| over the real line, infinite where f is not bounded."""
        return math.inf

    @property
    def odd_sigmoid(self) -> bool:
        """Whether f is in the class F of the paper, Definition 4.1."""
        return False

    @property
    def omega(self) -> float:
        """The pitchfork point 1 / f'(0) of the paper, section 4.1.

        Raises:
            ActivationError: f is not odd-sigmoid, and has none.
        """
        self.require_odd_sigmoid("omega = 1/f'(0)")
        return 1.0 / self.slope

    def require_odd_sigmoid(self, what: str, cure: str = "") -> None:
        """Refuse what is only defined in the class F.

        Args:
            what: it needs such a function.
            cure: what can be done in place of it, for the end of the line.

        Raises:
            ActivationError: f is not odd-sigmoid.
        """
        if not self.odd_sigmoid:
            raise ActivationError(
                f"{what} needs an odd-sigmoid activation (odd, bounded, increasing, steepest at "
                f"0: paper, Definition 4.1), and {self} is none{cure and ': ' + cure}"
            )

    @property
    def expression(self) -> str:
        """Canonical text; `parse_activation` of it gives the same function."""
        return self._format("x")

    @property
    def singular(self) -> bool:
        """Whether some derivative up to `MAX_ORDER` diverges at x = 0."""
        return False

    def derivatives(self, x: Tensor, order: int) -> tuple[Tensor, ...]:
        """Return (f, f', ..., f^(order)) at x, elementwise and in closed form.

        Args:
            x: float32 or float64 tensor of any shape.
            order: highest order, 0 <= order <= `MAX_ORDER`.

        Returns:
            `order + 1` new tensors of the shape, dtype and device of x, outside autograd.

        Raises:
            ActivationError: if x is not float32 or float64, or the order is out of range.
        """
        if x.dtype not in (torch.float32, torch.float64):
            raise ActivationError(f"an activation takes float32 or float64, not {x.dtype}")
        if not 0 <= order <= MAX_ORDER:
            raise ActivationError(
                f"activations have derivatives of order 0 to {MAX_ORDER}, not {order}"
            )
        with torch.no_grad():
            return self._derivatives(x.detach(), order)

    @abstractmethod
    def _derivatives(self, x: Tensor, order: int) -> tuple[Tensor, ...]:
        """Compute `derivatives` for checked arguments; results must not share memory."""

    @abstractmethod
    def _format(self, argument: str) -> str:
        """Return the text of f(argument)."""

    def __call__(self, x: Tensor) -> Tensor:
        """Return f(x), differentiable by autograd up to order `MAX_ORDER`.

        Raises:
            ActivationError: if x is not float32 or float64, or a higher derivative is taken.
        """
        return _Evaluate.apply(x, self, 0)  # pyright: ignore[reportReturnType]

    def stretch(self, factor: float) -> Activation:
        """Return x -> f(factor x).

        Raises:
            ActivationError: unless the factor is finite and > 0.
        """
        from pinnsig.activations.algebra import Stretched

        return Stretched(float(factor), self)

    def __mul__(self, factor: float) -> Activation:
        from pinnsig.activations.algebra import Scaled

        return Scaled(float(factor), self) if isinstance(factor, Real) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> Activation:
        if not isinstance(divisor, Real):
            return NotImplemented
        if divisor == 0:
            raise ActivationError("an activation cannot be divided by 0")
        return self * (1.0 / float(divisor))

    def __add__(self, other: Activation) -> Activation:
        from pinnsig.activations.algebra import Sum

        return Sum((self, other)) if isinstance(other, Activation) else NotImplemented

    def __str__(self) -> str:
        return self.expression


class OddSigmoid(Activation):
    """Base of the functions of the class F (paper, Definition 4.1).

    Positive combinations stay in the class (Corollary 1).
    """

    @property
    @abstractmethod
    def bound(self) -> float:
        """sup |f| over the real line, which is finite."""

    @property
    def odd_sigmoid(self) -> bool:
        """True."""
        return True


class _Evaluate(torch.autograd.Function):
    """f^(n) as one autograd node, whose derivative is the same node at order n + 1.

    Autograd thus never differentiates a formula that is only accurate as it stands.
    """

    @staticmethod
    def forward(x: Tensor, activation: Activation, order: int) -> Tensor:
        return activation.derivatives(x, order)[order]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:  # noqa: ARG004
        x, ctx.activation, ctx.order = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None, None]:
        (x,) = ctx.saved_tensors
        return grad_outputs[0] * _Evaluate.apply(x, ctx.activation, ctx.order + 1), None, None

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Tensor:
        (x,) = ctx.saved_tensors
        # Forward mode is off here by default, which would drop outer levels of nested jvp; x
        # stripped of its own tangent at this level still carries theirs.
        with forward_ad._set_fwd_grad_enabled(True):
            x = forward_ad.unpack_dual(x, level=0).primal
            return grad_inputs[0] * _Evaluate.apply(x, ctx.activation, ctx.order + 1)

    @staticmethod
    def vmap(
        info: Any,  # noqa: ARG004
        in_dims: tuple[Any, ...],
        *args: Any,
    ) -> tuple[Any, Any]:
        return _Evaluate.apply(*args), in_dims[0]
