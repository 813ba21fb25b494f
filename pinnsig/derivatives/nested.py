"""The reference engine: reverse-mode differentiation, nested once per order."""

from functools import lru_cache
from typing import ClassVar

import torch
from torch import Tensor, nn

from pinnsig.core.types import Column, PartialColumns, Points, Table
from pinnsig.derivatives.engine import Engine, register_engine
from pinnsig.derivatives.inputs import Features, stack_inputs
from pinnsig.derivatives.plan import Alpha, Plan


class NestedEngine(Engine):
    """`torch.autograd.grad`, once more for each order; works on any module."""

    name: ClassVar[str] = "nested"
    cost: ClassVar[str | None] = "each evaluation of the loss takes several times as long"

    def refusal(self, network: nn.Module, plan: Plan | None = None) -> None:
        """Every module can be differentiated this way."""

    def partials(
        self, network: nn.Module, features: Features | None, points: Points, plan: Plan
    ) -> Table:
        """Partials by nested reverse mode; see `Engine.partials`."""
        wants_graph = torch.is_grad_enabled()
        with torch.set_grad_enabled(wants_graph or plan.order > 0):
            columns = [column.detach().clone() for column in points.unbind(1)]
            if plan.order:
                columns = [column.requires_grad_() for column in columns]
            named = dict(zip(plan.coordinates, columns, strict=True))
            outputs = network(stack_inputs(features(named) if features else columns))
            tables = [_partials(output, columns, plan, wants_graph) for output in outputs.unbind(1)]
            table = torch.stack(tables, dim=2)
        return table if wants_graph else table.detach()


def _partials(
    output: Column, columns: list[Column], plan: Plan, wants_graph: bool
) -> PartialColumns:
    """The partials of one output."""
    known = {plan.alphas[0]: output}
    for lower, derivations in reverse_passes(plan):
        values, axes = known[lower], [axis for _, axis in derivations]
        slopes: tuple[Tensor | None, ...] = (None,) * len(axes)
        if values.requires_grad:
            slopes = torch.autograd.grad(
                values,
                [columns[axis] for axis in axes],
                torch.ones_like(values),
                # also for the passes to come, through this one or beside it
                create_graph=wants_graph or sum(lower) + 1 < plan.order,
                retain_graph=True,
                allow_unused=True,
            )
        for (alpha, _), slope in zip(derivations, slopes, strict=True):
            known[alpha] = torch.zeros_like(output) if slope is None else slope
    return torch.stack([known[alpha] for alpha in plan.alphas])


@lru_cache(maxsize=1024)
def reverse_passes(plan: Plan) -> list[tuple[Alpha, list[tuple[Alpha, int]]]]:
    """Return a plan's reverse passes: the partial each starts from, and what it gives.

    One pass gives the derivatives of a partial along as many axes as are asked for, so a mixed
    partial, which several can give, goes with a pass that is needed anyway.

    Returns:
        For each pass the multi-index that is differentiated, and pairs of a multi-index that it
        gives and the axis of the derivation; in an order in which they can be made.
    """
    sources = {
        alpha: [
            (tuple(k - (i == axis) for i, k in enumerate(alpha)), axis)
            for axis, order in enumerate(alpha)
            if order
        ]
        for alpha in plan.alphas[1:]
    }
    passes: dict[Alpha, list[tuple[Alpha, int]]] = {}
    for alpha in sorted(sources, key=lambda alpha: len(sources[alpha])):  # no choice: first
        lower, axis = next(
            (source for source in sources[alpha] if source[0] in passes), sources[alpha][0]
        )
        passes.setdefault(lower, []).append((alpha, axis))
    return sorted(passes.items(), key=lambda entry: sum(entry[0]))


register_engine(NestedEngine)
