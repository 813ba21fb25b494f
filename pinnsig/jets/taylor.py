"""The `jets` engine: all partials of a plan go forward through the network together.

A layer maps the stack Z of shape (K, N, inputs) to H = Z W^T, with the bias on the value's row
only, and the activation maps H by Faa di Bruno's formula; one reverse pass then gives the
weights' gradient. Griewank and Walther, Evaluating Derivatives (2008), chapter 13.
"""

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from pinnsig.activations import Activation
from pinnsig.errors import DerivativeError
from pinnsig.jets.engine import Engine, Features, coordinate_jets, register_engine, stack_inputs
from pinnsig.jets.plan import Plan
from pinnsig.networks import FFNN


def activate(h: Tensor, f: tuple[Tensor, ...], plan: Plan) -> Tensor:
    """Pass a stack through an activation: f(h_0) and its partials.

    Args:
        h: pre-activations, shape (K, N, W).
        f: value and derivatives of the activation at h[0], up to the plan's order.
        plan: the K partials.
    """
    z = torch.empty_like(h)
    z[0] = f[0]
    if len(plan) > 1:
        torch.mul(h[1:], f[1], out=z[1:])
    for k, coefficient, order, factors in plan.higher:
        z[k].addcmul_(f[order], _product(h, factors), value=coefficient)
    return z


def activate_backward(grad: Tensor, h: Tensor, f: tuple[Tensor, ...], plan: Plan) -> Tensor:
    """The gradient in h from the gradient in `activate(h, f, plan)`, both (K, N, W).

    Needs the activation's derivatives up to one order more than the plan's.
    """
    out = grad * f[1]
    if len(plan) > 1:
        out[0].addcmul_(f[2], (grad[1:] * h[1:]).sum(0))
    for k, coefficient, order, factors in plan.higher:
        whole = _product(h, factors)
        out[0].addcmul_(grad[k] * f[order + 1], whole, value=coefficient)
        base = grad[k] * f[order]
        for place, (j, power) in enumerate(factors):
            fewer = [(i, p - (q == place)) for q, (i, p) in enumerate(factors)]
            out[j].addcmul_(base, _product(h, fewer), value=coefficient * power)
    return out


def _product(h: Tensor, factors: Any) -> Tensor:
    rows = [h[j] for j, power in factors for _ in range(power)]
    total = rows[0] if rows else torch.ones_like(h[0])
    for row in rows[1:]:
        total = total * row
    return total


class _Propagate(torch.autograd.Function):
    """The whole network as one differentiable operation, with its own backward."""

    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, z: Tensor, plan: Plan, activation: Activation, *weights: Tensor
    ) -> Tensor:
        order = plan.order + any(ctx.needs_input_grad)
        layers: list[Tensor] = []  # for each hidden layer: its input, h, and f's derivatives
        for weight, bias in zip(weights[:-2:2], weights[1:-2:2], strict=True):
            h = z @ weight.T
            h[0] += bias
            f = activation.derivatives(h[0], order)
            layers += [z, h, *f]
            z = activate(h, f, plan)
        ctx.plan, ctx.per_layer = plan, order + 3
        # saved this way, everything goes as soon as a backward that keeps no graph is through
        ctx.save_for_backward(*weights, *layers, z)
        out = z @ weights[-2].T
        out[0] += weights[-1]
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        (grad,), saved = grads, ctx.saved_tensors
        count = len(ctx.needs_input_grad) - 3
        weights, layers, last = saved[:count], saved[count:-1], saved[-1]
        found: list[Tensor] = [grad[0].sum(0), _outer(grad, last)]
        grad = grad @ weights[-2]
        starts = range(len(layers) - ctx.per_layer, -1, -ctx.per_layer)
        for weight, start in zip(weights[-4::-2], starts, strict=True):
            z, h, *f = layers[start : start + ctx.per_layer]
            grad = activate_backward(grad, h, tuple(f), ctx.plan)
            found += [grad[0].sum(0), _outer(grad, z)]
            grad = grad @ weight
        return grad, None, None, *reversed(found)


def _outer(grad: Tensor, z: Tensor) -> Tensor:
    """Sum over partials and points of grad_i z_j, shape (outputs, inputs)."""
    return grad.flatten(0, 1).T @ z.flatten(0, 1)


class JetsEngine(Engine):
    """Forward Taylor mode through an FFNN, with a hand-written reverse pass."""

    name: ClassVar[str] = "jets"

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
        if not isinstance(network, FFNN):
            raise DerivativeError(f"engine jets needs an FFNN, not a {type(network).__name__}")
        coordinates = coordinate_jets(plan.coordinates, points)
        inputs = list(features(coordinates)) if features else list(coordinates.values())
        z = torch.stack([stack_inputs([jet.tensor(a) for jet in inputs]) for a in plan.alphas])
        weights = [p for layer in network.linears for p in (layer.weight, layer.bias)]
        return _Propagate.apply(z, plan, network.activation, *weights)  # type: ignore[return-value]


register_engine(JetsEngine)
