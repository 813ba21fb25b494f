"""Whether the operations that were written down are the network's function.

What a stand-in cannot see, such as a branch on the type of a value or on the mode of autograd,
would give another function without a word; so both are evaluated once, and compared.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from pinnsig.core.errors import whole_message
from pinnsig.networks.operations import Structure
from pinnsig.networks.stand_ins import CompositionError, Maker

POINTS = 8
SHAKEN = 0.1  # what weights are moved by: zeros, such as those of closed gates, would hide the rest
CLOSE = 1e-8  # relative, in float64
LARGER = 1e150  # values of such a size have no digits to compare


def value(structure: Structure, tensors: Sequence[Tensor], x: Tensor) -> Tensor:
    """Return what the operations make of inputs of shape (N, inputs), differentiable."""
    values = [x]
    for operation in structure.operations:
        read = [values[source] for source in operation.sources]
        values.append(operation.value(read, tensors))
    return values[structure.output]


def verify(network: nn.Module, structure: Structure, makers: Sequence[Maker]) -> None:
    """Compare values, and gradients in all parameters, at random points and moved weights.

    Args:
        network: what the operations were read from; it stays as it is.
        structure: the operations.
        makers: make each tensor beyond the parameters.

    Raises:
        CompositionError: they differ.
    """
    generator = torch.Generator().manual_seed(0)

    def random(like: Tensor, shape: Sequence[int]) -> Tensor:
        drawn = torch.randn(tuple(shape), generator=generator, dtype=torch.float64)
        return drawn.to(like.device)

    def moved(p: Tensor) -> nn.Parameter:
        return nn.Parameter(p.detach().double() + SHAKEN * random(p, p.shape))

    named = {name: moved(p) for name, p in network.named_parameters()}
    fixed = {n: b.double() if b.is_floating_point() else b for n, b in network.named_buffers()}
    trained = list(named.values())
    x = random(trained[0], (POINTS, structure.widths[0]))

    def followed(found: Any) -> list[Tensor]:
        gradients = torch.autograd.grad(
            (found * by).sum(), trained, allow_unused=True, materialize_grads=True
        )
        return [found.detach(), *gradients]

    with torch.enable_grad():
        try:
            expected = torch.func.functional_call(network, {**named, **fixed}, (x,))
        except Exception as error:
            reason = f"its forward cannot be compared in float64 ({whole_message(error)})"
            raise CompositionError(reason) from error
        by = random(x, expected.shape)
        tensors = [t.double() for t in [*trained, *(make(trained) for make in makers)]]
        pairs = zip(followed(value(structure, tensors, x)), followed(expected), strict=True)
    for i, (found, wanted) in enumerate(pairs):
        if not _close(found, wanted):
            what = "values" if i == 0 else f"the gradient in {list(named)[i - 1]}"
            raise CompositionError(f"{what} would differ from those that its forward has")


def _close(found: Tensor, wanted: Tensor) -> bool:
    if not bool((wanted.abs() < LARGER).all()):
        return True
    if found.shape != wanted.shape:
        return False
    return bool((found - wanted).norm() <= CLOSE * (1 + wanted.norm()))
