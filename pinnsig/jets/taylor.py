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
from pinnsig.jets.engine import Engine, Features, coordinate_jets, register_engine, stack_partials
from pinnsig.jets.kernels import LayerKernel
from pinnsig.jets.plan import Plan
from pinnsig.jets.workspace import Workspace
from pinnsig.networks import FFNN


class _Propagate(torch.autograd.Function):
    """The whole network as one differentiable operation, with its own backward."""

    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, inputs: Tensor, plan: Plan, kernel: LayerKernel, *weights: Tensor
    ) -> Tensor:
        order = plan.order + any(ctx.needs_input_grad)
        k, n, _ = inputs.shape
        hidden = len(weights) // 2 - 1
        width = weights[0].shape[0]
        # room for every layer's h, and for z or the gradient before and after one layer
        space = Workspace((hidden + 3) * (k * n * width + 16), inputs)
        scratch = [space.take(k, n, width) for _ in range(3)]
        layers, z = [], inputs
        for i in range(hidden):
            h = space.take(k, n, width)
            torch.mm(z.flatten(0, 1), weights[2 * i].T, out=h.flatten(0, 1))
            layers.append((h, kernel.forward(h, weights[2 * i + 1], scratch[0], order)))
            z = scratch[0]
        # kept by hand, so that the memory goes back when this node does
        ctx.kernel, ctx.space, ctx.layers, ctx.scratch = kernel, space, layers, scratch
        ctx.save_for_backward(inputs, *weights)
        out = torch.mm(z.flatten(0, 1), weights[-2].T).unflatten(0, (k, n))
        out[0] += weights[-1]
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        (grad,), (inputs, *weights) = grads, ctx.saved_tensors
        z, *turns = ctx.scratch
        found: list[Tensor] = []
        # z is worked out again from h: that is quicker than fetching it from memory
        ctx.kernel.again(*ctx.layers[-1], z)
        found += [grad[0].sum(0), _outer(grad, z)]
        for i in reversed(range(len(ctx.layers))):
            below = turns[i % 2]
            torch.mm(grad.flatten(0, 1), weights[2 * i + 2], out=below.flatten(0, 1))
            grad = below
            bias_gradient = ctx.kernel.backward(grad, *ctx.layers[i])
            if i:
                ctx.kernel.again(*ctx.layers[i - 1], z)
            found += [bias_gradient, _outer(grad, z if i else inputs)]
        first = grad @ weights[0] if ctx.needs_input_grad[0] else None
        return first, None, None, *reversed(found)


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
        z = stack_partials(inputs, plan)
        weights = [p for layer in network.linears for p in (layer.weight, layer.bias)]
        kernel = kernel_for(network.activation, plan, z)
        return _Propagate.apply(z, plan, kernel, *weights)  # type: ignore[return-value]


register_engine(JetsEngine)
