"""First-order methods with moments of the gradient; Adam, AdamW, RAdam."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from pinnsig.core.cuda_graphs import GraphedCallable
from pinnsig.core.errors import SettingsError
from pinnsig.optim.base import LIMIT, Gradient, Optimizer, Step, Steps


class FirstOrder(Optimizer):
    """One evaluation a step, and running means of the gradient and of its square.

    Attributes:
        rate_factor: the learning rate of a phase that names none, in units of the run's.

    Raises:
        SettingsError: a learning rate, beta, epsilon or clip out of its range.
    """

    first_order = True
    scheduled = True
    rate_factor: ClassVar[float] = 1.0

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
        self.betas = (beta1, beta2)
        self.epsilon = epsilon
        self.clip = clip
        self.iteration = 0
        self.mean: Tensor | None = None
        self.square: Tensor | None = None
        self._update: _Update | None = None

    @property
    def learning_rate(self) -> float:
        """The learning rate of the present step."""
        return self.base_rate * self.factor

    def step(self, theta: Tensor) -> Steps:
        """One update; the loss reported is the one before it."""
        measured = yield Gradient()
        if measured is None:
            return Step(math.nan, LIMIT)
        if math.isfinite(measured.loss):
            self.iteration += 1
            self._advance(theta, measured.gradient)
        return Step(measured.loss, terms=measured.terms)

    def _advance(self, theta: Tensor, gradient: Tensor) -> None:
        """Everything that is left on the device, recorded where that pays."""
        if self._update is None or self._update.theta is not theta:
            if self.mean is None or self.square is None:
                self.mean, self.square = torch.zeros_like(theta), torch.zeros_like(theta)
            self._update = _Update(self, theta, self.mean, self.square)
        self._update(gradient)

    def average(self, mean: Tensor, gradient: Tensor) -> Tensor:
        """Take a clipped gradient into the running mean; return what a step is made from."""
        return mean.lerp_(gradient, 1 - self.betas[0])

    @abstractmethod
    def numbers(self) -> tuple[float, ...]:
        """What changes from step to step, as `move` takes it."""

    @abstractmethod
    def move(self, theta: Tensor, mean: Tensor, square: Tensor, numbers: Sequence[Tensor]) -> None:
        """Move theta, given what `average` returned and the mean square before its correction."""

    def _unbias(self) -> tuple[float, float]:
        beta1, beta2 = self.betas
        return 1 - beta1**self.iteration, 1 - beta2**self.iteration

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_update": None}  # a recording cannot be copied

    def state(self) -> dict[str, Any]:
        """Both means and the number of steps."""
        return {"iteration": self.iteration, "mean": self.mean, "square": self.square}

    def load(self, state: dict[str, Any], like: Tensor) -> None:
        """See `Optimizer.load`."""
        self.iteration = state["iteration"]
        if state["mean"] is not None:
            self.mean = state["mean"].to(like, copy=True)
            self.square = state["square"].to(like, copy=True)
        self._update = None


class _Update:
    """The device's part of a step; the numbers that change go there in one transfer."""

    def __init__(self, optimizer: FirstOrder, theta: Tensor, mean: Tensor, square: Tensor) -> None:
        self.optimizer = optimizer
        self.theta, self.mean, self.square = theta, mean, square
        self.numbers = theta.new_empty(len(optimizer.numbers()))
        self.gradient: Tensor | None = None
        self.recorded = GraphedCallable(self._work, theta.device)

    def __call__(self, gradient: Tensor) -> None:
        """Move theta by a gradient."""
        if gradient is not self.gradient:  # a recording reads one tensor only
            self.gradient = gradient
            self.recorded = GraphedCallable(self._work, self.theta.device)
        self.numbers.copy_(torch.tensor(self.optimizer.numbers(), dtype=torch.float64))
        self.recorded()

    def _work(self) -> None:
        optimizer, gradient = self.optimizer, self.gradient
        assert gradient is not None
        if optimizer.clip is not None:
            norm = torch.linalg.vector_norm(gradient)
            gradient = gradient * (optimizer.clip / norm).clamp(max=1.0)
        beta2 = optimizer.betas[1]
        mean = optimizer.average(self.mean, gradient)
        self.square.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        optimizer.move(self.theta, mean, self.square, self.numbers.unbind())


class Adam(FirstOrder):
    """Adam with bias correction: Kingma and Ba, ICLR 2015, algorithm 1."""

    name = "adam"

    def numbers(self) -> tuple[float, ...]:
        """The step's length and the correction of the mean square."""
        unbias1, unbias2 = self._unbias()
        return self.learning_rate / unbias1, unbias2

    def move(self, theta: Tensor, mean: Tensor, square: Tensor, numbers: Sequence[Tensor]) -> None:
        """See `FirstOrder.move`."""
        length, unbias2 = numbers
        scale = (square / unbias2).sqrt_().add_(self.epsilon)
        theta.sub_((mean / scale).mul_(length))


class AdamW(Adam):
    """Adam with decoupled weight decay: Loshchilov and Hutter, ICLR 2019, algorithm 2.

    Args:
        weight_decay: what a step takes off the parameters, relative to them and the learning rate.
        lr, beta1, beta2, epsilon, clip: see `FirstOrder`.
    """

    name = "adamw"

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

    def numbers(self) -> tuple[float, ...]:
        """Adam's, and what the decay leaves of the parameters."""
        return (*super().numbers(), 1 - self.learning_rate * self.weight_decay)

    def move(self, theta: Tensor, mean: Tensor, square: Tensor, numbers: Sequence[Tensor]) -> None:
        """See `FirstOrder.move`."""
        *adams, left = numbers
        theta.mul_(left)
        super().move(theta, mean, square, adams)


class RAdam(FirstOrder):
    """Adam that trusts its second moment only once that is known: Liu et al., ICLR 2020."""

    name = "radam"

    def numbers(self) -> tuple[float, ...]:
        """The step's length, and whether it is scaled by the mean square, 1 or 0."""
        unbias1, unbias2 = self._unbias()
        beta2, t = self.betas[1], self.iteration
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * t * beta2**t / unbias2
        rate = self.learning_rate / unbias1
        if length <= 5:  # the variance of the adaptive rate is not finite below 4
            return rate, 0.0
        rectify = math.sqrt(
            (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
        )
        return rate * rectify * math.sqrt(unbias2), 1.0

    def move(self, theta: Tensor, mean: Tensor, square: Tensor, numbers: Sequence[Tensor]) -> None:
        """See `FirstOrder.move`."""
        length, scaled = numbers
        scale = (square.sqrt().add_(self.epsilon)).mul_(scaled).add_(1 - scaled)
        theta.sub_((mean / scale).mul_(length))
