"""The reference engine: reverse-mode differentiation, nested once per order."""

from typing import ClassVar

import torch
from torch import Tensor, nn

from pinnsig.derivatives.engine import Engine, Features, register_engine, stack_inputs
from pinnsig.derivatives.plan import Plan


class NestedEngine(Engine):
    """`torch.autograd.grad`, applied again for each order; works on any module."""

    name: ClassVar[str] = "nested"
    cost: ClassVar[str | None] = "each evaluation of the loss takes several times as long"

    def refusal(self, network: nn.Module, plan: Plan | None = None) -> None:
        """Every module can be differentiated this way."""

    def partials(
        self, network: nn.Module, features: Features | None, points: Tensor, plan: Plan
    ) -> Tensor:
        """Partials by nested reverse mode; see `Engine.partials`."""
        wants_graph = torch.is_grad_enabled()
        with torch.enable_grad():
            columns = [
                points[:, i].detach().clone().requires_grad_() for i in range(points.shape[1])
            ]
            named = dict(zip(plan.coordinates, columns, strict=True))
            outputs = network(stack_inputs(features(named) if features else columns))
            stack = torch.stack(
                [self._stack(outputs[:, j], columns, plan) for j in range(outputs.shape[1])], dim=2
            )
        return stack if wants_graph else stack.detach()

    @staticmethod
    def _stack(output: Tensor, columns: list[Tensor], plan: Plan) -> Tensor:
        """The partials of one output, shape (K, N)."""
        known = {plan.alphas[0]: output}
        for alpha in plan.alphas[1:]:
            axis = next(i for i, k in enumerate(alpha) if k)
            lower = tuple(k - (i == axis) for i, k in enumerate(alpha))
            found: Tensor | None = None
            if known[lower].requires_grad:
                (found,) = torch.autograd.grad(
                    known[lower].sum(), columns[axis], create_graph=True, allow_unused=True
                )
            known[alpha] = torch.zeros_like(output) if found is None else found
        return torch.stack([known[alpha] for alpha in plan.alphas])


register_engine(NestedEngine)
