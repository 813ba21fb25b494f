"""What a damped step starts from: the residuals, or what the step before leaves of them."""

from dataclasses import dataclass

from torch import Tensor

from pinnsig.optim.gauss_newton.linearization import Linearization


@dataclass(frozen=True)
class Target:
    """The step is `start` + the d that minimises |u + J d|^2 + lambda |d|^2.

    Attributes:
        start: shape (P,); None for zero.
        u: r + J start, shape (N,).
        slope: J^T u, shape (P,).
        gained: |r|^2 - |u|^2.
    """

    start: Tensor | None
    u: Tensor
    slope: Tensor
    gained: float

    @classmethod
    def plain(cls, model: Linearization) -> "Target":
        """From the present parameters."""
        return cls(None, model.residual, model.pullback(model.residual), 0.0)

    @classmethod
    def after(cls, model: Linearization, step: Tensor, factor: float) -> "Target":
        """From a part of the step before, which the damping then does not hold back.

        SPRING: Goldshlager, Abrahamsen, Lin, J. Comput. Phys. 516 (2024), equation 29.
        """
        r = model.residual
        start = factor * step.to(r)
        u = r + model.push(start)
        return cls(start, u, model.pullback(u), float(r @ r - u @ u))
