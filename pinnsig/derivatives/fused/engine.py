"""The `fused` engine: the stack of partials stays on the GPU's chips through all layers."""

import importlib
from collections.abc import Sequence
from functools import cache
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from pinnsig.activations import Activation
from pinnsig.core.errors import DerivativeError
from pinnsig.derivatives.engine import Engine, ForwardPass, register_engine
from pinnsig.derivatives.fused.operation import Tuning, Work, interpreting, propagate
from pinnsig.derivatives.inputs import Features, input_partials
from pinnsig.derivatives.plan import Plan
from pinnsig.networks import FFNN, Stack

MAX_WIDTH = 128
MAX_PARTIALS = 10  # all those of order <= 2 in three coordinates


class FusedEngine(Engine):
    """Forward Taylor mode and its reverse pass, each one Triton kernel for all hidden layers.

    float32 on CUDA, plans of order <= 2. The first and the last layer, which are small, are
    matrix products of torch.

    Args:
        deterministic: make gradients reproducible bit for bit.
        tuning: how the kernels run.
    """

    name: ClassVar[str] = "fused"
    stacks: ClassVar[bool] = True

    def __init__(self, deterministic: bool = False, tuning: Tuning | None = None) -> None:
        super().__init__(deterministic)
        self.tuning = tuning or Tuning()

    def refusal(self, network: nn.Module, plan: Plan | None = None) -> str | None:
        """Kernels exist for float32 on CUDA, small plans and networks of up to 128 units."""
        if not isinstance(network, FFNN):
            return f"it needs an FFNN, not a {type(network).__name__}"
        weight, width = network.linears[0].weight, network.linears[0].out_features
        if reason := _device_refusal(weight.device) or _triton_refusal():
            return reason
        if weight.dtype != torch.float32:
            return f"it needs float32, not {str(weight.dtype).removeprefix('torch.')}"
        if width > MAX_WIDTH:
            return f"it carries at most {MAX_WIDTH} units in a layer, not {width}"
        if plan is not None and plan.order > 2:
            return f"it carries partials of order <= 2, and the plan is {plan}"
        if plan is not None and len(plan) > MAX_PARTIALS:
            return f"it carries at most {MAX_PARTIALS} partials, and the plan is {plan}"
        return None

    def partials(
        self, network: nn.Module, features: Features | None, points: Tensor, plan: Plan
    ) -> Tensor:
        """Partials by fused forward Taylor mode; see `Engine.partials`."""
        net = self._checked(network, plan)
        z = input_partials(features, points, plan)
        return self._through(net.weights, net.activation, None, z, plan)

    def carry_stack(self, stack: Stack, inputs: Tensor, plan: Plan) -> ForwardPass:
        """See `Engine.carry_stack`."""
        self._checked(stack.networks[0], plan)
        weights = [weight.detach().requires_grad_() for weight in stack.weights]
        z = inputs.unflatten(1, (len(stack), -1))
        table = self._through(weights, stack.activation, stack.factors, z, plan)
        return ForwardPass(weights, table.flatten(1, 2))

    def _checked(self, network: nn.Module, plan: Plan) -> FFNN:
        reason = self.refusal(network, plan)
        if reason is not None or not isinstance(network, FFNN):
            raise DerivativeError(f"engine {self.name} cannot be used: {reason}")
        return network

    def _through(
        self,
        weights: Sequence[Tensor],
        activation: Activation,
        factors: Tensor | None,
        z: Tensor,
        plan: Plan,
    ) -> Tensor:
        """Partials of the outputs from those of the inputs, shape (K, N, inputs).

        Of several networks, the weights' first dimension is that of the members, and so is the
        second one of the partials.
        """
        # one more input, the constant 1 whose partials are 0, carries the first bias
        one = torch.zeros_like(z[..., :1])
        one[0] = 1
        (first, *hidden, last), (first_bias, *biases, last_bias) = weights[::2], weights[1::2]
        # units beyond the network's own have no weights: they stay exactly zero
        width = max(16, 1 << (first_bias.shape[-1] - 1).bit_length())
        spare = width - first_bias.shape[-1]
        first = pad(torch.cat([first, first_bias.unsqueeze(-1)], -1), (0, 0, 0, spare))
        h = torch.cat([z, one], -1) @ first.mT
        matrices = _stacked(hidden, (width, width), first)
        shifts = _stacked(biases, (width,), first_bias)
        save = torch.is_grad_enabled() and any(t.requires_grad for t in (h, matrices, shifts))
        work = Work(plan, activation, factors, self.deterministic, save, self.tuning)
        out = propagate(h, matrices, shifts, work) @ pad(last, (0, spare)).mT
        return torch.cat([out[:1] + last_bias.unsqueeze(-2), out[1:]])


def _device_refusal(device: torch.device) -> str | None:
    if interpreting():
        return None
    if device.type != "cuda" or torch.version.hip:
        return f"it needs a CUDA device, and the network is on {device.type}"
    if torch.cuda.get_device_capability(device) < (8, 0):
        return "it needs a CUDA device of compute capability 8.0 or more"
    return None


@cache
def _triton_refusal() -> str | None:
    try:
        importlib.import_module("triton.language")
    except Exception as error:  # a broken installation fails in many ways
        return f"it needs Triton, which cannot be imported ({type(error).__name__})"
    return None


def _stacked(tensors: Sequence[Tensor], size: tuple[int, ...], like: Tensor) -> Tensor:
    """Tensors of one shape as one tensor, each padded with zeros to the size.

    Dimensions of members stay before that of the layers.
    """
    own = len(size)
    if not tensors:
        return like.new_zeros(*like.shape[:-own], 0, *size)
    spare = size[-1] - tensors[0].shape[-1]
    return pad(torch.stack(list(tensors), dim=-own - 1), [0, spare] * own)


register_engine(FusedEngine)
