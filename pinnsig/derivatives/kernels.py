"""The elementwise part of a layer in torch's operations; `compiled` does it in C."""

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
        self.plan.composition.evaluate({"h": h, "f": f}, z)

    def backward(self, grad: Tensor, h: Tensor, f: Derivatives) -> None:
        """Turn the gradient in z into that in h, in place.

        It needs derivatives up to one order more than the plan's.
        """
        # in place: row j of the adjoint reads grad_j, first of all, and rows after it
        self.plan.composition_adjoint.evaluate({"h": h, "f": f, "g": grad}, grad)
