"""What an optimiser is: one iteration at a time on a flat vector of parameters."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from torch import Tensor


@dataclass(frozen=True)
class Measured:
    """An evaluation at the present parameters.

    Attributes:
        loss: the loss.
        slope: its derivative along the direction that was asked about; 0 without one.
        gradient: shape (P,), overwritten by the next evaluation.
    """

    loss: float
    slope: float
    gradient: Tensor


class Evaluate(Protocol):
    """Loss and gradient at the present parameters, fetched from the device in one go."""

    def __call__(self, direction: Tensor | None = None) -> Measured:
        """Evaluate; `direction`, shape (P,), is what the slope is taken along."""
        ...


Allowed = Callable[[], bool]
"""Whether a limit on evaluations or time leaves room for one more evaluation."""

LIMIT = "limit"
"""Stop reason: no further evaluation is allowed."""


def always() -> bool:
    """No limit."""
    return True


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
    """Base of the optimisers; each keeps its own memory between steps.

    Attributes:
        name: what phases call it.
        first_order: whether a step is one evaluation, so that the loss may change between steps
            (fresh points, loss weights); if not, it must stay the same within a phase.
    """

    name: ClassVar[str]
    first_order: ClassVar[bool] = False

    @property
    def learning_rate(self) -> float | None:
        """The present learning rate, where there is such a thing."""
        return None

    @abstractmethod
    def step(self, theta: Tensor, evaluate: Evaluate, allowed: Allowed = always) -> Step:
        """One iteration: move theta, shape (P,), in place.

        Args:
            theta: the parameters that `evaluate` reads.
            evaluate: loss and gradient at theta.
            allowed: asked before every evaluation; false ends the step.
        """

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """All that the next step depends on: tensors, numbers, texts, lists and dicts of them."""

    @abstractmethod
    def load(self, state: dict[str, Any], like: Tensor) -> None:
        """Go on from a state, with tensors of the type and on the device of `like`."""

    def inherit(self, previous: "Optimizer", like: Tensor) -> None:
        """Take over what is worth it from the optimiser of the phase before."""
        if type(previous) is type(self):
            self.load(previous.state(), like)
