"""The Lotka-Volterra equations of predators and their prey."""

import math
from functools import lru_cache

from torch import Tensor

from pinnsig.problem import Box, Coefficient, Initial, ODEReference, Problem


class LotkaVolterra(Problem):
    """prey' = T prey (a - b pred), pred' = T pred (c prey - e), for 0 <= t <= 1.

    Both start at the given numbers prey0 and pred0, in units of 200 animals; t is time over T.
    Source: the examples of Lu, Meng, Mao and Karniadakis (2021), DeepXDE, in their scales: T = 20,
    a = 2, b = 8, c = 4, e = 1.06, prey0 = 0.5, pred0 = 0.075; some four rounds of the cycle.
    The error of `solution` is below 1e-13.
    """

    domain = Box(t=(0.0, 1.0))
    fields = ("prey", "pred")
    T = Coefficient(20.0, minimum=1.0)
    a = Coefficient(2.0, minimum=0.0)
    b = Coefficient(8.0, minimum=0.0)
    c = Coefficient(4.0, minimum=0.0)
    e = Coefficient(1.06, minimum=0.0)
    prey0 = Coefficient(0.5, above=0.0)
    pred0 = Coefficient(0.075, above=0.0)

    def residual(self, prey, pred):
        """The rates of growth less what they should be."""
        return {
            "prey": prey.t - self.T * prey * (self.a - self.b * pred),
            "pred": pred.t - self.T * pred * (self.c * prey - self.e),
        }

    def conditions(self):
        """The numbers to start from."""
        yield Initial(prey=self.prey0, pred=self.pred0)

    def hard_ansatz(self, first, second, t):
        """The start plus t times an output, for each."""
        return self.prey0 + t * first, self.pred0 + t * second

    def solution(self, t: Tensor) -> tuple[Tensor, ...]:
        """Prey and predators by a Runge-Kutta method, each of shape (N,)."""
        return reference(**{name: float(value) for name, value in self.values().items()})(t)


@lru_cache(maxsize=8)
def reference(
    T: float, a: float, b: float, c: float, e: float, prey0: float, pred0: float, finer: int = 1
) -> ODEReference:
    """The numerical solution, with `finer` times as many steps; see `ODEReference`.

    100 of them in each unit of the time that is not scaled leave an error below 1e-13.
    """
    return ODEReference(
        lambda _, y: (T * y[0] * (a - b * y[1]), T * y[1] * (c * y[0] - e)),
        (prey0, pred0),
        until=1.0,
        samples=finer * math.ceil(100 * T),
    )
