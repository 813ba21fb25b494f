"""The `jets` engine: all partials of a plan go forward through the network together."""

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from pinnsig.activations import Activation
from pinnsig.core.errors import DerivativeError
from pinnsig.derivatives.compiled import CompiledTape, find_library
from pinnsig.derivatives.engine import (
    Engine,
    Features,
    ForwardPass,
    input_partials,
    register_engine,
)
from pinnsig.derivatives.kernels import LayerKernel
from pinnsig.derivatives.plan import Plan
from pinnsig.derivatives.tape import LayerTape, SequentialTapes, Tape
from pinnsig.networks import FFNN, Stack


def make_tape(
    activation: Activation, plan: Plan, inputs: Tensor, weights: Sequence[Tensor], keep: bool = True
) -> Tape:
    """Carry inputs of shape (K, N, inputs) through the network, by the fastest way there is.

    Args:
        weights: weight and bias of each layer.
        keep: whether the tape has to go back, too.
    """
    if inputs.device.type == "cpu":
        library = find_library(activation, plan, inputs.dtype)
        if library is not None:
            return CompiledTape(inputs, weights, library, keep)
    return LayerTape(inputs, weights, LayerKernel(activation, plan), keep)


def make_stack_tape(stack: Stack, plan: Plan, inputs: Tensor) -> Tape:
    """The same for several networks, each with inputs of its own: shape (M, K, N, inputs)."""
    activations = [network.activation for network in stack.networks]
    if inputs.device.type == "cpu":
        libraries = [find_library(activation, plan, inputs.dtype) for activation in activations]
        weights = zip(*(weight.unbind() for weight in stack.weights), strict=True)
        found = [
            CompiledTape(z, w, library, True)
            for z, w, library in zip(inputs, weights, libraries, strict=True)
            if library is not None
        ]
        if len(found) == len(stack):
            return SequentialTapes(found)
    return LayerTape(inputs, stack.weights, LayerKernel(stack.activation, plan), True)


class _Propagate(torch.autograd.Function):
    """The whole network as one differentiable operation, with its own backward."""

    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, activation: Activation, plan: Plan, inputs: Tensor, *weights: Tensor
    ) -> Tensor:
        keep = any(ctx.needs_input_grad)
        tape = make_tape(activation, plan, inputs, weights, keep)
        # kept by hand, so that the memory goes back when this node does
        ctx.tape = tape if keep else None
        ctx.save_for_backward(inputs, *weights)
        return tape.forward()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        _, *weights = ctx.saved_tensors  # complains where one was changed meanwhile
        sizes = [weight.numel() for weight in weights]
        gradient = grads[0].new_zeros(sum(sizes))
        below = ctx.tape.add_gradient(grads[0], gradient, ctx.needs_input_grad[2])
        parts = gradient.split(sizes)
        shaped = (p.view_as(w) for p, w in zip(parts, weights, strict=True))
        return None, None, below, *shaped


class _Taped(ForwardPass):
    """Partials with their tape, without autograd between."""

    def __init__(self, network: FFNN, plan: Plan, inputs: Tensor) -> None:
        self.tape = make_tape(network.activation, plan, inputs.detach(), network.weights)
        self.inputs = inputs
        self.table = self.tape.forward().requires_grad_()

    def add_gradient(
        self, cotangent: Tensor, into: Tensor, leaves: Sequence[Tensor]
    ) -> tuple[Tensor | None, ...]:
        """See `ForwardPass.add_gradient`."""
        moved = self.inputs.requires_grad
        below = self.tape.add_gradient(cotangent, into, moved)
        if not moved:
            return (None,) * len(leaves)
        return torch.autograd.grad(self.inputs, leaves, below, allow_unused=True)


class _TapedStack(ForwardPass):
    """The same for several networks, whose points stand one network after another."""

    def __init__(self, stack: Stack, plan: Plan, inputs: Tensor) -> None:
        self.stack = stack
        self.tape = make_stack_tape(stack, plan, self._apart(inputs.detach()))
        self.table = self.tape.forward().movedim(0, 1).flatten(1, 2).requires_grad_()

    def _apart(self, stacked: Tensor) -> Tensor:
        """From (K, M * N, columns) to (M, K, N, columns), contiguous."""
        return stacked.unflatten(1, (len(self.stack), -1)).movedim(1, 0).contiguous()

    def add_gradient(
        self, cotangent: Tensor, into: Tensor, leaves: Sequence[Tensor]
    ) -> tuple[Tensor | None, ...]:
        """See `ForwardPass.add_gradient`; inputs that depend on leaves are not for stacks."""
        self.tape.add_gradient(self._apart(cotangent), into, False)
        return (None,) * len(leaves)


class JetsEngine(Engine):
    """Forward Taylor mode through an FFNN, with a hand-written reverse pass."""

    name: ClassVar[str] = "jets"
    stacks: ClassVar[bool] = True

    def refusal(self, network: nn.Module, plan: Plan | None = None) -> str | None:
        """Only the layer structure of an FFNN is known to it."""
        del plan
        if isinstance(network, FFNN):
            return None
        return f"it needs an FFNN, not a {type(network).__name__}"

    def partials(
        self, network: nn.Module, features: Features | None, points: Tensor, plan: Plan
    ) -> Tensor:
        """Partials by forward Taylor mode; see `Engine.partials`."""
        net, z = self._start(network), input_partials(features, points, plan)
        return _Propagate.apply(net.activation, plan, z, *net.weights)  # type: ignore[return-value]

    def carry(
        self,
        network: nn.Module,
        features: Features | None,
        points: Tensor,
        plan: Plan,
        inputs: Tensor | None = None,
    ) -> ForwardPass:
        """The same with a way back of its own; see `Engine.carry`."""
        if not torch.is_grad_enabled():
            return super().carry(network, features, points, plan)
        if inputs is None:
            inputs = input_partials(features, points, plan)
        return _Taped(self._start(network), plan, inputs)

    def carry_stack(self, stack: Stack, inputs: Tensor, plan: Plan) -> ForwardPass:
        """See `Engine.carry_stack`."""
        return _TapedStack(stack, plan, inputs)

    @staticmethod
    def _start(network: nn.Module) -> FFNN:
        if not isinstance(network, FFNN):
            raise DerivativeError(f"engine jets needs an FFNN, not a {type(network).__name__}")
        return network


register_engine(JetsEngine)
