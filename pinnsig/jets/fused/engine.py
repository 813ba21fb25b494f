"""The `fused` engine: the stack of partials stays on the GPU's chips through all layers."""

import importlib
from collections.abc import Sequence
from functools import cache
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from pinnsig.errors import DerivativeError
from pinnsig.jets.engine import Engine, Features, coordinate_jets, register_engine, stack_partials
from pinnsig.jets.fused.forms import NoFormError, write_activation
from pinnsig.jets.fused.operation import Tuning, Work, interpreting, propagate
from pinnsig.jets.plan import Plan
from pinnsig.networks import FFNN

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
        try:
            write_activation(network.activation)
        except NoFormError as error:
            return str(error)
        return None

    def partials(
        self, network: nn.Module, features: Features | None, points: Tensor, plan: Plan
    ) -> Tensor:
        """Partials by fused forward Taylor mode; see `Engine.partials`."""
        reason = self.refusal(network, plan)
        if reason is not None or not isinstance(network, FFNN):
            raise DerivativeError(f"engine {self.name} cannot be used: {reason}")
        coordinates = coordinate_jets(plan.coordinates, points)
        inputs = list(features(coordinates)) if features else list(coordinates.values())
        z = stack_partials(inputs, plan)
        # one more input, the constant 1 whose partials are 0, carries the first bias
        one = pad(torch.ones_like(z[:1, :, :1]), (0, 0, 0, 0, 0, len(plan) - 1))
        first, *hidden, last = network.linears
        # units beyond the network's own have no weights: they stay exactly zero
        width = max(16, 1 << (first.out_features - 1).bit_length())
        spare = width - first.out_features
        first_weights = pad(torch.column_stack([first.weight, first.bias]), (0, 0, 0, spare))
        h = torch.cat([z, one], dim=2) @ first_weights.T
        weights = _stacked([layer.weight for layer in hidden], (width, width), z)
        biases = _stacked([layer.bias for layer in hidden], (width,), z)
        save = torch.is_grad_enabled() and any(t.requires_grad for t in (h, weights, biases))
        work = Work(plan, network.activation, self.deterministic, save, self.tuning)
        out = propagate(h, weights, biases, work) @ pad(last.weight, (0, spare)).T
        return torch.cat([out[:1] + last.bias, out[1:]])


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
    """Tensors of one shape as one tensor, each padded with zeros to the size."""
    if not tensors:
        return like.new_zeros(0, *size)
    spare = [size[-1] - tensors[0].shape[-1]] * len(size)
    return pad(torch.stack(list(tensors)), [n for extra in spare for n in (0, extra)])


register_engine(FusedEngine)
