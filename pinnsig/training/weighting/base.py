"""What a weighting scheme is."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from torch import Tensor

from pinnsig.core.errors import SettingsError
from pinnsig.objective import Objective, Weights


class Weighting(ABC):
    """Base of the schemes; they act on what is minimised, never on the loss that is reported.

    Args:
        every: iterations between one update and the next.

    Raises:
        SettingsError: `every` below 1.
    """

    name: ClassVar[str]

    def __init__(self, every: int = 100) -> None:
        if every < 1:
            raise SettingsError(f"{self.name}: every = {every} must be at least 1")
        self.every = every

    @abstractmethod
    def start(self, objective: Objective) -> Weights:
        """Return the weights found so far, for the first objective or for one that new points or
        another precision put in its place."""

    @abstractmethod
    def update(
        self, objective: Objective, present: Weights, sizes: Tensor | None, iteration: int
    ) -> Weights:
        """Return the weights for a first-order iteration.

        Args:
            objective: what is minimised.
            present: the weights so far.
            sizes: of the residuals at the collocation points at the evaluation before, shape (N,),
                where points are weighted.
            iteration: counted from 1 in its phase.
        """

    @abstractmethod
    def shown(self) -> dict[str, float] | None:
        """Weights by term as they stand, for the log; None where they belong to points."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """All that the next update depends on."""

    @abstractmethod
    def load(self, state: dict[str, Any], objective: Objective) -> None:
        """Go on from a state, on this objective."""
