"""What a process does that is asked for its part of a loss: it holds points, and answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from pinnsig.core.errors import one_line
from pinnsig.core.ranks import Ranks
from pinnsig.model import Model
from pinnsig.objective.loss import Objective
from pinnsig.objective.weights import Weights
from pinnsig.problem import Sites


@dataclass
class Holding:
    """A share of an objective's points, and what is kept for it between two orders.

    Attributes:
        ranks: whose it is.
        objective: the loss there; its terms are the share's part of the means over all points.
        kept: by name.
    """

    ranks: Ranks
    objective: Objective
    kept: dict[str, Any] = field(default_factory=dict)

    def weights(self, terms: list[float], points: Sequence[Tensor]) -> Weights:
        """Return what rank 0 has sent: weights of terms, perhaps one tensor of those of points."""
        like = self.objective.weights.terms
        own = torch.tensor(terms, dtype=torch.float64).to(like)
        return Weights(own, points[0] if points else None)


Work = Callable[[Holding, Any, list[Tensor]], list[Tensor]]
"""A function of a module, which every process calls with its share: what is asked, and tensors that
come with it; gives tensors."""


@dataclass(frozen=True)
class Hold:
    """The order to hold points.

    Attributes:
        key: of the objective.
        released: keys of those that are not needed any more.
        engine: its name.
        arguments: further arguments of `Objective`.
    """

    key: int
    released: tuple[int, ...]
    engine: str
    sites: Mapping[str, Sites]
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Ask:
    """The order to work at the parameters that come first among the tensors."""

    key: int
    work: Work
    about: Any


@dataclass(frozen=True)
class Convert:
    """The order to go on in another precision."""

    dtype: torch.dtype


@dataclass(frozen=True)
class Refill:
    """The order to hold other points of some terms, as many as before."""

    key: int
    sites: Mapping[str, Sites]


@dataclass(frozen=True)
class Fault:
    """The answer where work failed: the reason in one line."""

    text: str
    memory: bool


class Follower:
    """Answers the orders about one model.

    Args:
        ranks: this process among the others.
        model: the same as that of rank 0.
    """

    def __init__(self, ranks: Ranks, model: Model) -> None:
        self.ranks, self.model = ranks, model
        self.held: dict[int, Holding] = {}

    def obey(self, order: Hold | Ask | Convert | Refill, tensors: list[Tensor]) -> None:
        """Do what rank 0 asks; what goes wrong is for rank 0 to raise."""
        if isinstance(order, Refill):
            objective = self.held[order.key].objective
            objective.refill({**objective.sites, **order.sites})
            return
        if isinstance(order, Convert):
            self.held.clear()
            self.model.to(order.dtype)
            return
        found: list[Tensor] = []
        fault = None
        try:
            found = self._hold(order) if isinstance(order, Hold) else self._work(order, tensors)
        except Exception as error:
            fault = fault_of(error)
        self.ranks.send(0, fault, found)

    def _hold(self, order: Hold) -> list[Tensor]:
        for key in order.released:
            self.held.pop(key, None)
        objective = Objective(self.model, order.engine, order.sites, **order.arguments)
        self.held[order.key] = Holding(self.ranks, objective)
        return []

    def _work(self, order: Ask, tensors: list[Tensor]) -> list[Tensor]:
        holding = self.held[order.key]
        holding.objective.flat.restore(tensors[0])
        return order.work(holding, order.about, tensors[1:])


def fault_of(error: Exception) -> Fault:
    """Return what rank 0 is told of an error."""
    memory = isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__
    return Fault(one_line(error), memory)
