"""First-order methods with moments of the gradient: Adam, AdamW, RAdam."""

import math
from abc import abstractmethod
from typing import Any, ClassVar

import torch
from torch import Tensor

from pinnsig.errors import SettingsError
from pinnsig.optim.base import LIMIT, Allowed, Evaluate, Optimizer, Step, always


class FirstOrder(Optimizer):
    """One evaluation a step, and running means of the gradient and of its square.

    Attributes:
        factor: what a schedule makes of the learning rate at present.

    Raises:
        SettingsError: a learning rate, beta, epsilon or clip out of its range.
    """

    first_order: ClassVar[bool] = True

    def __init__(
        self,
        lr: float,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        clip: float | None = None,
    ) -> None:
        if not (0 < lr < math.inf):
            raise SettingsError(f"learning rate = {lr} must be finite and above zero")
        for name, beta in (("beta1", beta1), ("beta2", beta2)):
            if not 0 <= beta < 1:
                raise SettingsError(f"{self.name}: {name} = {beta} must lie in [0, 1)")
        if not 0 <= epsilon < math.inf:
            raise SettingsError(f"{self.name}: epsilon = {epsilon} must not be below 0")
        if clip is not None and not 0 < clip < math.inf:
            raise SettingsError(f"{self.name}: clip = {clip} must be finite and above zero")
        self.base_rate = lr
        self.factor = 1.0
        self.betas = (beta1, beta2)
        self.epsilon = epsilon
        self.clip = clip
        self.iteration = 0
        self.mean: Tensor | None = None
        self.square: Tensor | None = None

    @property
    def learning_rate(self) -> float:
        """The learning rate of the present step."""
        return self.base_rate * self.factor

    def step(self, theta: Tensor, evaluate: Evaluate, allowed: Allowed = always) -> Step:
        """One update; the loss reported is the one before it."""
        if not allowed():
            return Step(math.nan, LIMIT)
        measured = evaluate()
        if not math.isfinite(measured.loss):
            return Step(measured.loss)
        gradient = measured.gradient
        if self.clip is not None:
            norm = torch.linalg.vector_norm(gradient)
            gradient = gradient * (self.clip / norm).clamp(max=1.0)
        if self.mean is None or self.square is None:
            self.mean, self.square = torch.zeros_like(theta), torch.zeros_like(theta)
        self.iteration += 1
        beta1, beta2 = self.betas
        self.mean.lerp_(gradient, 1 - beta1)
        self.square.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        self._update(theta, self.mean, self.square)
        return Step(measured.loss)

    @abstractmethod
    def _update(self, theta: Tensor, mean: Tensor, square: Tensor) -> None:
        """Move theta, given the running means before their correction."""

    def _adam(self, theta: Tensor, mean: Tensor, square: Tensor) -> None:
        unbias1 = 1 - self.betas[0] ** self.iteration
        unbias2 = 1 - self.betas[1] ** self.iteration
        scale = (square / unbias2).sqrt_().add_(self.epsilon)
        theta.addcdiv_(mean, scale, value=-self.learning_rate / unbias1)

    def state(self) -> dict[str, Any]:
        """Both means and the number of steps."""
        return {"iteration": self.iteration, "mean": self.mean, "square": self.square}

    def load(self, state: dict[str, Any], like: Tensor) -> None:
        """See `Optimizer.load`."""
        self.iteration = state["iteration"]
        if state["mean"] is not None:
            self.mean = state["mean"].to(like, copy=True)
            self.square = state["square"].to(like, copy=True)


class Adam(FirstOrder):
    """Adam with bias correction: Kingma and Ba, ICLR 2015, algorithm 1."""

    name: ClassVar[str] = "adam"

    def _update(self, theta: Tensor, mean: Tensor, square: Tensor) -> None:
        self._adam(theta, mean, square)


class AdamW(FirstOrder):
    """Adam with decoupled weight decay: Loshchilov and Hutter, ICLR 2019, algorithm 2.

    Args:
        weight_decay: what a step takes off the parameters, relative to them and the learning rate.
        lr, beta1, beta2, epsilon, clip: see `FirstOrder`.
    """

    name: ClassVar[str] = "adamw"

    def __init__(
        self,
        lr: float,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        clip: float | None = None,
        weight_decay: float = 1e-2,
    ) -> None:
        super().__init__(lr, beta1, beta2, epsilon, clip)
        if not 0 <= weight_decay < math.inf:
            raise SettingsError(f"adamw: weight_decay = {weight_decay} must not be below 0")
        self.weight_decay = weight_decay

    def _update(self, theta: Tensor, mean: Tensor, square: Tensor) -> None:
        theta.mul_(1 - self.learning_rate * self.weight_decay)
        self._adam(theta, mean, square)


class RAdam(FirstOrder):
    """Adam that trusts its second moment only once that is known: Liu et al., ICLR 2020."""

    name: ClassVar[str] = "radam"

    def _update(self, theta: Tensor, mean: Tensor, square: Tensor) -> None:
        beta1, beta2 = self.betas
        t = self.iteration
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * t * beta2**t / (1 - beta2**t)
        unbiased = mean / (1 - beta1**t)
        if length <= 5:  # the variance of the adaptive rate is not finite below 4
            theta.add_(unbiased, alpha=-self.learning_rate)
            return
        rectify = math.sqrt(
            (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
        )
        scale = square.sqrt().add_(self.epsilon)
        rate = self.learning_rate * rectify * math.sqrt(1 - beta2**t)
        theta.addcdiv_(unbiased, scale, value=-rate)
