"""The `jets` engine: all partials of a plan go forward through the network together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from pinnsig.activations import Activation
from pinnsig.core.types import InputTable, MemberFlats, MemberInputTables, Points, Table
from pinnsig.derivatives.compiled import (
    CompiledOperationTape,
    CompiledTape,
    find_library,
    find_operations,
)
from pinnsig.derivatives.engine import Engine, ForwardPass, register_engine
from pinnsig.derivatives.inputs import Features, input_partials
from pinnsig.derivatives.kernels import LayerKernel
from pinnsig.derivatives.operation_tape import ComputedTape, OperationTape
from pinnsig.derivatives.plan import Plan
from pinnsig.derivatives.tape import LayerTape, SequentialTapes, Tape
from pinnsig.networks import FFNN, Composition, CompositionError, Stack, Structure, compose
from pinnsig.networks.operations import Linear


def make_tape(
    activation: Activation,
    plan: Plan,
    inputs: InputTable,
    weights: Sequence[Tensor],
    keep: bool = True,
) -> Tape:
    """Return the pass of inputs through the network, by the fastest way there is.

    Args:
        weights: weight and bias of each layer.
        keep: whether the tape has to go back, too.
    """
    if inputs.device.type == "cpu":
        library = find_library(activation, plan, inputs.dtype)
        if library is not None:
            return CompiledTape(inputs, weights, library, keep)
    return LayerTape(inputs, weights, LayerKernel(activation, plan), keep)


def make_operation_tape(
    structure: Structure,
    plan: Plan,
    inputs: InputTable,
    tensors: Sequence[Tensor],
    keep: bool = True,
) -> Tape:
    """Return the same through a composition of operations, which read those tensors."""
    if inputs.device.type == "cpu":
        library = find_operations(structure, plan, inputs.dtype)
        if library is not None:
            return CompiledOperationTape(inputs, tensors, library, keep)
    return OperationTape(inputs, structure, tensors, plan, keep)


def make_stack_tape(stack: Stack, plan: Plan, inputs: MemberInputTables) -> Tape:
    """Return the same for several networks, each with inputs of its own."""
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


@dataclass(frozen=True)
class _Carrier:
    """A network as the engine carries it.

    Attributes:
        weights: all that is trained, the network's parameters first.
        parameters: how many of those are parameters; the others are computed from them.
        make: makes the tape of a pass from inputs, weights, and whether it has to go back.
    """

    weights: Sequence[Tensor]
    parameters: int
    make: Callable[[Tensor, Sequence[Tensor], bool], Tape]


class _Propagate(torch.autograd.Function):
    """The whole network as one differentiable operation, with its own backward."""

    @staticmethod
    def forward(ctx: Any, carrier: _Carrier, inputs: Tensor, *weights: Tensor) -> Tensor:  # type: ignore[override]
        keep = any(ctx.needs_input_grad)
        tape = carrier.make(inputs, weights, keep)
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
        below = ctx.tape.add_gradient(grads[0], gradient, ctx.needs_input_grad[1])
        parts = gradient.split(sizes)
        shaped = (p.view_as(w) for p, w in zip(parts, weights, strict=True))
        return None, below, *shaped


class _Taped(ForwardPass):
    """Partials with their tape, without autograd between."""

    def __init__(self, tape: Tape, inputs: InputTable) -> None:
        self.tape, self.inputs = tape, inputs
        self.table = self.tape.forward().requires_grad_()

    def add_gradient(
        self, cotangent: Table, into: MemberFlats, leaves: Sequence[Tensor]
    ) -> tuple[Tensor | None, ...]:
        """See `ForwardPass.add_gradient`."""
        moved = self.inputs.requires_grad
        below = self.tape.add_gradient(cotangent, into, moved)
        if not moved:
            return (None,) * len(leaves)
        return torch.autograd.grad(self.inputs, leaves, below, allow_unused=True)


class _TapedStack(ForwardPass):
    """The same for several networks, whose points stand one network after another."""

    def __init__(self, stack: Stack, plan: Plan, inputs: InputTable) -> None:
        self.stack = stack
        self.tape = make_stack_tape(stack, plan, self._apart(inputs.detach()))
        self.table = self.tape.forward().movedim(0, 1).flatten(1, 2).requires_grad_()

    def _apart(self, stacked: Tensor) -> Tensor:
        """From (K, M * N, columns) to (M, K, N, columns), contiguous."""
        return stacked.unflatten(1, (len(self.stack), -1)).movedim(1, 0).contiguous()

    def add_gradient(
        self, cotangent: Table, into: MemberFlats, leaves: Sequence[Tensor]
    ) -> tuple[Tensor | None, ...]:
        """See `ForwardPass.add_gradient`; inputs that depend on leaves are not for stacks."""
        self.tape.add_gradient(self._apart(cotangent), into, False)
        return (None,) * len(leaves)


class JetsEngine(Engine):
    """Forward Taylor mode through a network's operations, with a hand-written reverse pass."""

    name: ClassVar[str] = "jets"
    stacks: ClassVar[bool] = True

    def __init__(self, deterministic: bool = False) -> None:
        super().__init__(deterministic)
        # or why a network is none: an error itself would hold what it was raised in
        self._compositions: WeakKeyDictionary[nn.Module, Composition | str] = WeakKeyDictionary()

    def refusal(self, network: nn.Module, plan: Plan | None = None) -> str | None:
        """It carries what is a composition of operations (`pinnsig.networks.compose`)."""
        del plan
        if isinstance(network, FFNN):
            return None
        try:
            self._composition(network)
        except CompositionError as error:
            return f"{type(network).__name__} is no composition of its operations: {error}"
        return None

    def partials(
        self, network: nn.Module, features: Features | None, points: Points, plan: Plan
    ) -> Table:
        """Partials by forward Taylor mode; see `Engine.partials`."""
        carrier, z = self._carrier(network, plan), input_partials(features, points, plan)
        return _Propagate.apply(carrier, z, *carrier.weights)  # type: ignore[return-value]

    def carry(
        self,
        network: nn.Module,
        features: Features | None,
        points: Points,
        plan: Plan,
        inputs: InputTable | None = None,
    ) -> ForwardPass:
        """The same with a way back of its own; see `Engine.carry`."""
        if not torch.is_grad_enabled():
            return super().carry(network, features, points, plan)
        if inputs is None:
            inputs = input_partials(features, points, plan)
        return _Taped(self.tape(network, plan, inputs.detach()), inputs)

    def tape(self, network: nn.Module, plan: Plan, inputs: InputTable, keep: bool = True) -> Tape:
        """See `Engine.tape`."""
        with torch.enable_grad():  # for what is computed from parameters
            carrier = self._carrier(network, plan)
        weights = [weight.detach() for weight in carrier.weights]
        tape = carrier.make(inputs, weights, keep)
        if carrier.parameters == len(weights):
            return tape
        return ComputedTape(tape, carrier.weights, carrier.parameters)

    def layers(self, network: nn.Module) -> int | None:
        """See `Engine.layers`; C keeps what linear operations give, torch's operations all."""
        if isinstance(network, FFNN):
            return None
        operations = self._composition(network).structure.operations
        if next(network.parameters()).device.type == "cpu":
            return max(sum(isinstance(operation, Linear) for operation in operations), 1)
        return len(operations)

    def carry_stack(self, stack: Stack, inputs: InputTable, plan: Plan) -> ForwardPass:
        """See `Engine.carry_stack`."""
        return _TapedStack(stack, plan, inputs)

    def _carrier(self, network: nn.Module, plan: Plan) -> _Carrier:
        if isinstance(network, FFNN):  # whose passes are written out whole
            own, weights = network, network.weights
            return _Carrier(
                weights,
                len(weights),
                lambda z, w, keep: make_tape(own.activation, plan, z, w, keep),
            )
        composition = self._composition(network)
        structure, tensors = composition.structure, composition.tensors()

        def make(z: Tensor, weights: Sequence[Tensor], keep: bool) -> Tape:
            trained = iter(weights)
            given = [
                next(trained) if own else tensor.to(z)
                for tensor, own in zip(tensors, structure.trained, strict=True)
            ]
            return make_operation_tape(structure, plan, z, given, keep)

        weights = [t for t, own in zip(tensors, structure.trained, strict=True) if own]
        return _Carrier(weights, len(composition.parameters), make)

    def _composition(self, network: nn.Module) -> Composition:
        """Traced once for each network, whose `forward` is to stay as it is.

        Raises:
            CompositionError: it is no composition, which is remembered, too.
        """
        if network not in self._compositions:
            try:
                self._compositions[network] = compose(network)
            except CompositionError as error:
                self._compositions[network] = str(error)
        found = self._compositions[network]
        if isinstance(found, str):
            raise CompositionError(found)
        return found


register_engine(JetsEngine)
