"""The `jets` engine: all partials of a plan go forward through the network together.

A layer maps the stack Z of shape (K, N, inputs) to H = Z W^T, with the bias on the value's row
only, and the activation maps H by Faa di Bruno's formula; one reverse pass then gives the
weights' gradient. Griewank and Walther, Evaluating Derivatives (2008), chapter 13.
"""

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from pinnsig.errors import DerivativeError
from pinnsig.jets.compiled import kernel_for
from pinnsig.jets.engine import Engine, Features, coordinate_jets, register_engine, stack_inputs
from pinnsig.jets.kernels import LayerKernel
from pinnsig.jets.plan import Plan
from pinnsig.jets.workspace import Workspace
from pinnsig.networks import FFNN


class _Propagate(torch.autograd.Function):
    """The whole network as one differentiable operation, with its own backward."""

    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, z: Tensor, plan: Plan, kernel: LayerKernel, *weights: Tensor
    ) -> Tensor:
        order = plan.order + any(ctx.needs_input_grad)
        k, n, _ = z.shape
        widest = max(weight.shape[0] for weight in weights[:-2:2]) + 16
        space = Workspace((len(weights) + 2) * k * n * widest, z)
        layers = []  # for each hidden layer: its input, pre-activations, and what the kernel keeps
        for weight, bias in zip(weights[:-2:2], weights[1:-2:2], strict=True):
            h, activated = space.take(k, n, len(bias)), space.take(k, n, len(bias))
            torch.mm(z.flatten(0, 1), weight.T, out=h.flatten(0, 1))
            layers.append((z, h, kernel.forward(h, bias, activated, order)))
            z = activated
        # kept by hand: the memory goes back when this node does
        ctx.plan, ctx.kernel, ctx.space, ctx.layers, ctx.last = plan, kernel, space, layers, z
        ctx.save_for_backward(*weights)
        out = torch.mm(z.flatten(0, 1), weights[-2].T).unflatten(0, (k, n))
        out[0] += weights[-1]
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        (grad,), weights = grads, ctx.saved_tensors
        k, n, _ = grad.shape
        found: list[Tensor] = [grad[0].sum(0), _outer(grad, ctx.last)]
        below = weights[-2]
        for weight, (z, h, f) in zip(weights[-4::-2], reversed(ctx.layers), strict=True):
            grad = torch.mm(grad.flatten(0, 1), below).unflatten(0, (k, n))
            bias_gradient = ctx.kernel.backward(grad, h, f)
            found += [bias_gradient, _outer(grad, z)]
            below = weight
        inputs = grad @ below if ctx.needs_input_grad[0] else None
        return inputs, None, None, *reversed(found)


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
        kernel = kernel_for(network.activation, plan, z)
        return _Propagate.apply(z, plan, kernel, *weights)  # type: ignore[return-value]


register_engine(JetsEngine)
