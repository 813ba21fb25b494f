"""The hidden layers of a network as one differentiable operation, run by fused kernels."""

import os
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from pinnsig.activations import Activation
from pinnsig.core.errors import SettingsError
from pinnsig.core.registry import unknown
from pinnsig.derivatives.fused.source import load_kernels
from pinnsig.derivatives.plan import Plan

PRECISIONS = ("tf32x3", "bf16x6", "ieee")
"""How products of float32 are made: three of tf32, six of bfloat16, or plain float32.

tf32x3 keeps 22 of a factor's 24 bits, bf16x6 all of them at the same cost; ieee doesn't use the
tensor cores. Plain tf32 is not among them: through 50 layers it leaves two digits of a gradient.
"""


def interpreting() -> bool:
    """Whether Triton interprets kernels on the CPU."""
    return os.environ.get("TRITON_INTERPRET") == "1"


@dataclass(frozen=True)
class Tuning:
    """How the kernels run; the results differ by rounding alone.

    Attributes:
        block: points carried by one program, a power of two from 16.
        warps: warps of one program; None to go by the size of its stacks.
        stages: depth of the compiler's pipeline of loads; None to go by the width.
        slabs: copies of the weights' gradient that programs add to, and which are then summed.
        precision: one of `PRECISIONS`.

    Raises:
        SettingsError: the precision is unknown.
    """

    block: int = 16
    warps: int | None = None
    stages: int | None = None
    slabs: int = 8
    precision: str = "tf32x3"

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            raise SettingsError(unknown("precision", self.precision, PRECISIONS))

    def options(self, partials: int, width: int) -> dict[str, Any]:
        """Arguments of a launch that both kernels take."""
        # About 32 registers a thread for one stack, and never fewer warps than tiles of 16 units.
        # Chosen by what the compiler spills to memory; 16 warps leave a thread too few registers.
        needed = max(4, partials * self.block // 16) * width // 64
        return {
            "WIDTH": width,
            "BLOCK": self.block,
            "PRECISION": "ieee" if interpreting() else self.precision,
            "num_warps": self.warps or min(8, 1 << max(0, needed - 1).bit_length()),
            # tiles of weights of 128 units fit the memory of smaller devices only once
            "num_stages": self.stages or (2 if width <= 64 else 1),
        }


@dataclass(frozen=True)
class Work:
    """What is fixed about one call of `propagate`.

    Attributes:
        plan: the K partials.
        activation: the hidden activation; of several networks the joined one.
        factors: those of a joined activation, shape (slots, M); None where it has none.
        deterministic: whether the gradient must be the same bit for bit in every run.
        save: whether there will be a backward pass.
        tuning: how the kernels run.
    """

    plan: Plan
    activation: Activation
    factors: Tensor | None
    deterministic: bool
    save: bool
    tuning: Tuning


def propagate(first: Tensor, weights: Tensor, biases: Tensor, work: Work) -> Tensor:
    """Carry a stack of partials through the hidden layers of one network or of M.

    Args:
        first: pre-activations of the first hidden layer, shape (K, N, W) or (K, M, N, W), W a power
            of two >= 16.
        weights: of the further hidden layers, shape (layers, W, W) or (M, layers, W, W).
        biases: of the further hidden layers, shape (layers, W) or (M, layers, W).
        work: all the rest.

    Returns:
        Outputs of the last hidden layer, of the shape of `first`, differentiable in the tensors.
    """
    return _Propagate.apply(first, weights, biases, work)  # pyright: ignore[reportReturnType]


class _Propagate(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, first: Tensor, weights: Tensor, biases: Tensor, work: Work
    ) -> Tensor:
        first, weights, biases = first.contiguous(), weights.contiguous(), biases.contiguous()
        partials, *members, points, width = first.shape
        layers, members = weights.shape[-3], prod(members)
        last = torch.empty_like(first)
        # pre-activations of every hidden layer; the kernel is given some address in any case
        hidden = first.new_empty(layers + 1, *first.shape) if work.save else last
        factors = work.factors if work.factors is not None else biases
        if points:
            kernel = load_kernels(work.activation, work.plan).forward
            blocks = -(-points // work.tuning.block)
            with torch.cuda.device_of(first):
                kernel[(blocks, members)](
                    first, weights, biases, factors, hidden, last, points, members,
                    LAYERS=layers, SAVE=work.save, **work.tuning.options(partials, width),
                )  # fmt: skip
        ctx.work = work
        if work.save:
            ctx.save_for_backward(weights, factors, hidden)
        return last

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        work: Work = ctx.work
        weights, factors, hidden = ctx.saved_tensors
        grad = grads[0].contiguous()
        partials, *members, points, width = grad.shape
        layers, members, blocks = weights.shape[-3], prod(members), -(-points // work.tuning.block)
        slabs = _exclusive_slabs(weights) if work.deterministic else work.tuning.slabs
        slabs = max(1, min(slabs, blocks))
        grad_first = torch.empty_like(grad)
        grad_weights = grad.new_zeros(members, slabs, layers, width, width)
        grad_biases = grad.new_zeros(members, slabs, layers, width)
        kernel = load_kernels(work.activation, work.plan).backward
        # A slab that one program at a time adds to is filled in a fixed order: launches follow
        # one another, and so do a program's own additions.
        stride = slabs if work.deterministic else max(1, blocks)
        for start in range(0, blocks, stride):
            with torch.cuda.device_of(grad):
                kernel[(min(stride, blocks - start), members)](
                    grad, weights, factors, hidden, grad_first, grad_weights, grad_biases,
                    points, members, start, slabs, LAYERS=layers,
                    **work.tuning.options(partials, width),
                )  # fmt: skip
        own = weights.shape[:-1]
        return grad_first, grad_weights.sum(1).view_as(weights), grad_biases.sum(1).view(own), None


def _exclusive_slabs(weights: Tensor) -> int:
    """As many as fill the device with programs, twice its multiprocessors, within a gigabyte."""
    if weights.device.type != "cuda":
        return 2
    fill = 2 * torch.cuda.get_device_properties(weights.device).multi_processor_count
    return max(1, min(fill, 2**28 // max(1, weights.numel())))
