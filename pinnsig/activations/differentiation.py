"""An activation as a node of autograd's graph, differentiable as often as it has derivatives."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

if TYPE_CHECKING:
    from pinnsig.activations.base import Activation

MAX_ORDER = 5
"""Highest derivative order that every activation gives."""

AHEAD = 2  # orders that are computed with one that is going to be differentiated itself


def evaluate(activation: Activation, x: Tensor) -> Tensor:
    """Return f(x), differentiable in forward and reverse mode.

    Raises:
        ActivationError: if x is not float32 or float64, or, later, a derivative is taken that the
            activation does not have.
    """
    return _Evaluate.apply(x, _Derivatives(activation), 0, 0)  # pyright: ignore[reportReturnType]


class _Derivatives:
    """The derivatives of one activation at one x, computed once: all nodes over it read them."""

    def __init__(self, activation: Activation) -> None:
        self.activation = activation
        self.known: tuple[Tensor, ...] = ()

    def at(self, x: Tensor, order: int, ahead: int) -> Tensor:
        """Return f^(order) at x, a tensor of its own, outside autograd.

        Args:
            x: the same each time.
            order: of the derivative.
            ahead: how many orders beyond it are worth computing, too.
        """
        if order == 0:  # asked for once, by a caller who may write into it
            return self.activation.derivatives(x, 0)[0]
        if order >= len(self.known):
            highest = max(order, min(order + ahead, MAX_ORDER))
            self.known = self.activation.derivatives(x, highest)
        return self.known[order].detach()


class _Evaluate(torch.autograd.Function):
    """f^(n) as one autograd node, whose derivative is the same node at order n + 1.

    Autograd thus never differentiates a formula that is only accurate as it stands.
    """

    @staticmethod
    def forward(x: Tensor, derivatives: _Derivatives, order: int, ahead: int) -> Tensor:
        return derivatives.at(x, order, ahead)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:  # noqa: ARG004
        x, ctx.derivatives, ctx.order, _ = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None, None, None]:
        (x,) = ctx.saved_tensors
        return grad_outputs[0] * _slope(ctx, x), None, None, None

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Tensor:
        (x,) = ctx.saved_tensors
        # Forward mode is off here by default, which would drop outer levels of nested jvp; x
        # stripped of its own tangent at this level still carries theirs.
        with forward_ad._set_fwd_grad_enabled(True):
            x = forward_ad.unpack_dual(x, level=0).primal
            return grad_inputs[0] * _slope(ctx, x)

    @staticmethod
    def vmap(
        info: Any,  # noqa: ARG004
        in_dims: tuple[Any, ...],
        *args: Any,
    ) -> tuple[Any, Any]:
        return _Evaluate.apply(*args), in_dims[0]


def _slope(ctx: Any, x: Tensor) -> Tensor:
    """The node of the next order."""
    ahead = AHEAD if torch.is_grad_enabled() else 0
    return _Evaluate.apply(x, ctx.derivatives, ctx.order + 1, ahead)  # pyright: ignore[reportReturnType]


# torch asks for it at each call, which takes longer than a small layer's arithmetic
_Evaluate.forward.__signature__ = inspect.signature(_Evaluate.forward)  # pyright: ignore[reportFunctionMemberAccess]
