"""The elementwise part of a layer in torch's operations; `compiled` does it in C."""

import torch
from torch import Tensor

from pinnsig.activations import Activation
from pinnsig.derivatives.plan import Plan

Derivatives = tuple[Tensor, ...]


class LayerKernel:
    """Bias, activation and Faa di Bruno's formula, both ways, for one activation and plan."""

    def __init__(self, activation: Activation, plan: Plan) -> None:
        self.activation, self.plan = activation, plan

    def forward(self, h: Tensor, bias: Tensor, z: Tensor, order: int) -> Derivatives:
        """Add the bias to row 0 of h and write the activated stack to z.

        Args:
            h: pre-activations without bias, shape (K, N, W); changed in place.
            bias: shape (W,).
            z: where the result goes, shape (K, N, W).
            order: highest derivative of the activation to give back.

        Returns:
            Derivatives at h[0], as `recompute` and `backward` want to have them.
        """
        h[0] += bias
        f = self.activation.derivatives(h[0], order)
        self.recompute(h, f, z)
        return f

    def recompute(self, h: Tensor, f: Derivatives, z: Tensor) -> None:
        """Write the activated stack to z once more, from what `forward` left."""
        z[0] = f[0]
        if len(self.plan) > 1:
            torch.mul(h[1:], f[1], out=z[1:])
        for k, coefficient, order_, factors in self.plan.higher:
            z[k].addcmul_(f[order_], _product(h, factors), value=coefficient)

    def backward(self, grad: Tensor, h: Tensor, f: Derivatives) -> None:
        """Turn the gradient in z into that in h, in place.

        It needs derivatives up to one order more than the plan's.
        """
        cotangent = grad.clone() if self.plan.higher else grad
        value = (grad[1:] * h[1:]).sum(0).mul_(f[2]) if len(self.plan) > 1 else None
        grad *= f[1]
        if value is not None:
            grad[0] += value
        for k, coefficient, order, factors in self.plan.higher:
            whole = _product(h, factors)
            grad[0].addcmul_(cotangent[k] * f[order + 1], whole, value=coefficient)
            base = cotangent[k] * f[order]
            for place, (j, power) in enumerate(factors):
                fewer = tuple((i, p - (q == place)) for q, (i, p) in enumerate(factors))
                grad[j].addcmul_(base, _product(h, fewer), value=coefficient * power)


def _product(h: Tensor, factors: tuple[tuple[int, int], ...]) -> Tensor:
    rows = [h[j] for j, power in factors for _ in range(power)]
    total = rows[0] if rows else torch.ones_like(h[0])
    for row in rows[1:]:
        total = total * row
    return total
