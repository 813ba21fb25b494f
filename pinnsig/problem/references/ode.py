"""References for ordinary differential equations."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from scipy.integrate import solve_ivp
from torch import Tensor

from pinnsig.problem.references.samples import Samples


class ODEReference:
    """The solution of y' = f(t, y) from time 0 on, by the Runge-Kutta method DOP853.

    The method is of order 8 (Hairer, Nørsett and Wanner 1993), with a relative tolerance of 1e-13
    and no step longer than that of the samples.

    Args:
        rates: f(t, y), as plain numbers.
        start: y at time 0, of K numbers.
        until: the last time.
        samples: how many steps to keep, equally spaced.
    """

    def __init__(
        self,
        rates: Callable[[float, np.ndarray], Sequence[float]],
        start: Sequence[float],
        until: float,
        samples: int,
    ) -> None:
        found = solve_ivp(
            rates,
            (0.0, until),
            start,
            method="DOP853",
            t_eval=np.linspace(0.0, until, samples + 1),
            max_step=until / samples,
            rtol=1e-13,
            atol=1e-15,
        )
        self.samples = Samples(torch.from_numpy(found.y.T.copy()), until / samples)

    def __call__(self, t: Tensor) -> tuple[Tensor, ...]:
        """The components of y at times of shape (N,), each of shape (N,)."""
        return self.samples(t).unbind(1)
