"""What an optimiser is: one iteration at a time on a flat vector of parameters."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

Evaluate = Callable[[], tuple[float, Tensor]]
"""Loss at the present parameters and its gradient, shape (P,), overwritten by the next call."""


@dataclass(frozen=True)
class Step:
    """What one iteration did.

    Attributes:
        loss: the loss at the parameters that the step reports on.
        stop: why no further iteration makes sense, or None.
    """

    loss: float
    stop: str | None = None


class Optimizer(ABC):
    """Base of the optimisers; each keeps its own memory between steps."""

    name: ClassVar[str]

    @property
    def learning_rate(self) -> float | None:
        """The present learning rate, where there is such a thing."""
        return None

    @abstractmethod
    def step(self, theta: Tensor, evaluate: Evaluate, budget: int | None = None) -> Step:
        """One iteration: move theta, shape (P,), in place.

        Args:
            theta: the parameters that `evaluate` reads.
            evaluate: loss and gradient at theta.
            budget: at most so many evaluations; None means no limit.
        """
