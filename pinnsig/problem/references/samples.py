"""Samples in time of a numerical solution, joined so that they can be differentiated."""

import math

import torch
from torch import Tensor

WIDTH = 8
"""How many samples in time a value is interpolated from."""


class Samples:
    """Samples at equal steps of time, joined by polynomials through the `WIDTH` nearest.

    Args:
        values: shape (samples, K), at least `WIDTH` of them, the first one at time 0.
        step: time between two samples.
        rates: how the columns move in the main, as exp(rate t): only what is left after that is
            interpolated. Shape (K,); none means that they stand still.
    """

    def __init__(self, values: Tensor, step: float, rates: Tensor | None = None) -> None:
        self.values, self.step, self.rates = values, step, rates
        places = torch.arange(WIDTH, dtype=torch.float64)
        spans = places[:, None] - places
        self._scale = (spans + torch.eye(WIDTH)).prod(1)
        self._moves = None if rates is None else torch.exp(-step * places[:, None] * rates)

    def __call__(self, t: Tensor) -> Tensor:
        """Values at times t of shape (N,), shape (N, K)."""
        first, weights = self.window(t)
        total: Tensor | float = 0.0
        for j in range(WIDTH):
            sample = self.values[first + j]
            total = total + weights[:, j, None] * (
                sample if self._moves is None else sample * self._moves[j]
            )
        assert isinstance(total, Tensor)
        if self.rates is None:
            return total
        return total * torch.exp(self.step * (t / self.step - first)[:, None] * self.rates)

    def window(self, t: Tensor) -> tuple[Tensor, Tensor]:
        """Return the first of the `WIDTH` samples about each time, (N,), and all their weights.

        The weights are Lagrange's polynomials, shape (N, WIDTH).
        """
        place = t / self.step
        first = (place.detach().floor().long() - WIDTH // 2 + 1).clamp(0, len(self.values) - WIDTH)
        steps = (place - first)[:, None] - torch.arange(WIDTH, dtype=t.dtype)
        found = []
        for j in range(WIDTH):
            others = [steps[:, m] for m in range(WIDTH) if m != j]
            found.append(math.prod(others[1:], start=others[0]) / self._scale[j])
        return first, torch.stack(found, 1)
