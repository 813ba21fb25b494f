"""Rows of the Jacobian through any network: each point is given weights of its own."""

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from pinnsig.core.errors import DerivativeError, whole_message
from pinnsig.core.types import Inputs, Jacobian, Points, Table
from pinnsig.derivatives import Plan
from pinnsig.derivatives.inputs import Features
from pinnsig.derivatives.nested import NestedEngine


class PerPoint(nn.Module):
    """A network with a copy of its weights for each group of neighbouring points.

    The gradient of a sum over points in the copies is then all rows at once.

    Args:
        network: any module that `torch.func.vmap` can carry.
        groups: how many groups there are.
        stride: points of a group.

    Attributes:
        copies: of all parameters, a row for each group, a leaf.
    """

    copies: Jacobian

    def __init__(self, network: nn.Module, groups: int, stride: int) -> None:
        super().__init__()
        self._network = [network]  # no part of this module
        named = {name: p.detach() for name, p in network.named_parameters()}
        self.names, self.shapes = list(named), [p.shape for p in named.values()]
        flat = torch.cat([p.reshape(-1) for p in named.values()])
        self.copies = flat.repeat(groups, 1).requires_grad_()
        self.stride = stride

    def forward(self, x: Inputs) -> Tensor:
        """Map inputs, group after group, each by the weights of its group."""
        sizes = [shape.numel() for shape in self.shapes]

        def group(weights: Tensor, rows: Tensor) -> Tensor:
            parts = weights.split(sizes)
            named = {n: p.view(s) for n, p, s in zip(self.names, parts, self.shapes, strict=True)}
            return functional_call(self._network[0], named, (rows,))

        return vmap(group)(self.copies, x.unflatten(0, (-1, self.stride))).flatten(0, 1)


def partials_per_point(
    network: nn.Module, features: Features | None, points: Points, plan: Plan, stride: int
) -> tuple[Table, Jacobian]:
    """Return partials as of the nested engine, and the copies of the weights behind them.

    Args:
        stride: neighbouring points that share a copy.

    Raises:
        DerivativeError: the network cannot be carried so.
    """
    each = PerPoint(network, len(points) // stride, stride)
    try:
        return NestedEngine().partials(each, features, points, plan), each.copies
    except RuntimeError as error:
        raise DerivativeError(
            f"rows through a {type(network).__name__} cannot be had, which weighting = start-trace "
            f"and ntk-trace, lm and the estimate of the error need: {whole_message(error)}"
        ) from error
