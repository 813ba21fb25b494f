"""Adam: Kingma and Ba, ICLR 2015, algorithm 1."""

import math
from typing import ClassVar

import torch
from torch import Tensor

from pinnsig.errors import SettingsError
from pinnsig.optim.base import Evaluate, Optimizer, Step


class Adam(Optimizer):
    """Adam with bias correction, on one flat vector.

    Raises:
        SettingsError: a learning rate, beta or epsilon out of its range.
    """

    name: ClassVar[str] = "adam"

    def __init__(
        self, learning_rate: float, betas: tuple[float, float] = (0.9, 0.999), epsilon: float = 1e-8
    ) -> None:
        if not (0 < learning_rate < math.inf):
            raise SettingsError(f"learning rate = {learning_rate} must be finite and above zero")
        if not all(0 <= beta < 1 for beta in betas) or epsilon < 0:
            raise SettingsError(f"Adam: betas = {betas} must lie in [0, 1), epsilon not below 0")
        self._learning_rate = learning_rate
        self.betas = betas
        self.epsilon = epsilon
        self.iteration = 0
        self.mean: Tensor | None = None
        self.square: Tensor | None = None

    @property
    def learning_rate(self) -> float:
        """The learning rate."""
        return self._learning_rate

    def step(self, theta: Tensor, evaluate: Evaluate, budget: int | None = None) -> Step:
        """One update; the loss reported is the one before it."""
        del budget
        loss, gradient = evaluate()
        if not math.isfinite(loss):
            return Step(loss)
        if self.mean is None or self.square is None:
            self.mean, self.square = torch.zeros_like(theta), torch.zeros_like(theta)
        self.iteration += 1
        beta1, beta2 = self.betas
        self.mean.lerp_(gradient, 1 - beta1)
        self.square.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        unbias1 = 1 - beta1**self.iteration
        unbias2 = 1 - beta2**self.iteration
        scale = (self.square / unbias2).sqrt_().add_(self.epsilon)
        theta.addcdiv_(self.mean, scale, value=-self.learning_rate / unbias1)
        return Step(loss)
