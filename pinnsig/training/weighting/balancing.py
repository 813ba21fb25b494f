"""Schemes with one weight for each term, on top of the user's own: a moving average of targets."""

from abc import abstractmethod
from typing import Any, ClassVar

import torch
from torch import Tensor

from pinnsig.core.errors import SettingsError
from pinnsig.objective import Objective, Weights
from pinnsig.objective.distributed import mean_row_squares
from pinnsig.training.weighting.base import Weighting

ROWS = 256  # of a Jacobian that are held at a time
SAMPLE = 4000  # points of a term that tell its trace


class Balancing(Weighting):
    """weight_i = given_i * lambda_i, with lambda_i a moving average of a scheme's targets.

    Targets have a bound, so that no term's weight grows without end.

    Args:
        every: iterations between one update and the next.
        memory: share of the old value in each update, in [0, 1).

    Attributes:
        largest: bound on a target.

    Raises:
        SettingsError: a number out of its range.
    """

    largest: ClassVar[float]

    def __init__(self, every: int = 100, memory: float = 0.9) -> None:
        super().__init__(every)
        if not 0 <= memory < 1:
            raise SettingsError(f"{self.name}: memory = {memory} must lie in [0, 1)")
        self.memory = memory
        self.factors: Tensor | None = None  # shape (terms,), on the host
        self.terms: tuple[str, ...] = ()

    @abstractmethod
    def speeds(self, objective: Objective) -> Tensor:
        """How fast each term changes, shape (terms,): factors are to make these equal."""

    def sized_speeds(self, objective: Objective) -> Tensor:
        """The same of terms in units of their sizes, on the host."""
        found = self.speeds(objective).double().cpu()
        return found / objective.size_squares.double().cpu()

    def targets(self, objective: Objective) -> Tensor:
        """Where the factors of the terms ought to be now, shape (terms,), on the host."""
        speeds = self.sized_speeds(objective)
        return (speeds.sum() / speeds).clamp(max=self.largest)

    def start(self, objective: Objective) -> Weights:
        """See `Weighting.start`."""
        self.terms = objective.term_names
        if self.factors is None:
            self.factors = torch.ones(len(self.terms), dtype=torch.float64)
        given = objective.weights.terms
        return Weights(given * self.factors.to(given))

    def update(
        self, objective: Objective, present: Weights, sizes: Tensor | None, iteration: int
    ) -> Weights:
        """See `Weighting.update`; a target that is not finite leaves its weight as it is."""
        del sizes
        if (iteration - 1) % self.every:
            return present
        assert self.factors is not None
        targets = _where_finite(self.targets(objective), self.factors)
        self.factors = self.memory * self.factors + (1 - self.memory) * targets
        return self.start(objective)

    def shown(self) -> dict[str, float] | None:
        """See `Weighting.shown`; the factors on the user's own weights."""
        if self.factors is None:
            return None
        return dict(zip(self.terms, self.factors.tolist(), strict=True))

    def state(self) -> dict[str, Any]:
        """The factors."""
        return {"factors": self.factors}

    def load(self, state: dict[str, Any], objective: Objective) -> None:
        """See `Weighting.load`."""
        del objective
        self.factors = state["factors"]


def _where_finite(factors: Tensor, otherwise: Tensor) -> Tensor:
    return torch.where(factors.isfinite(), factors, otherwise)


class GradientNorm(Balancing):
    """Every term's gradient gets the same length: lambda_i = sum_j |g_j| / |g_i|, within bounds.

    A gradient vanishes as its term is met, so that the weight of the term that is met best would
    grow without end: the term that has fallen furthest since the first update is not raised.

    Wang, Sankaran, Wang and Perdikaris, An Expert's Guide to Training PINNs (2023), algorithm
    1, but for these bounds.
    """

    name: ClassVar[str] = "gradient-norm"
    largest: ClassVar[float] = 1e2

    def __init__(self, every: int = 100, memory: float = 0.9) -> None:
        super().__init__(every, memory)
        self.first: Tensor | None = None  # mean squares at the first update, shape (terms,)

    def targets(self, objective: Objective) -> Tensor:
        """See `Balancing.targets`."""
        targets = super().targets(objective)
        terms = objective.losses().terms.double().cpu()
        self.first = terms if self.first is None else self.first
        fallen = terms / self.first
        targets[(fallen == fallen.min()) & (fallen < 1)] = 1.0
        return targets

    def state(self) -> dict[str, Any]:
        """The factors, and where the terms began."""
        return {**super().state(), "first": self.first}

    def load(self, state: dict[str, Any], objective: Objective) -> None:
        """See `Weighting.load`."""
        super().load(state, objective)
        self.first = state["first"]

    def speeds(self, objective: Objective) -> Tensor:
        """See `Balancing.speeds`: lengths of the gradients."""
        return objective.term_gradients().double().norm(dim=1)


class NTKTrace(Balancing):
    """Every term converges at the same rate: lambda_i = sum_j t_j / t_i, within bounds.

    t_i is the mean squared length of the rows d(residual_i)/d(theta): the trace of the term's
    block of the neural tangent kernel over its number of points. Wang, Yu and Perdikaris, J.
    Comput. Phys. 449 (2022) 110768, with means as in the Expert's Guide (2023), equation 5.
    """

    name: ClassVar[str] = "ntk-trace"
    largest: ClassVar[float] = 1e4

    def speeds(self, objective: Objective) -> Tensor:
        """See `Balancing.speeds`: traces."""
        return mean_row_squares(objective, ROWS, SAMPLE)


class StartTrace(NTKTrace):
    """The weights of `NTKTrace` at the initialised network, kept from there on.

    What stays the same may be used with any optimiser, and cannot run away.
    """

    name: ClassVar[str] = "start-trace"

    def start(self, objective: Objective) -> Weights:
        """See `Weighting.start`; the first call finds the factors."""
        if self.factors is None:
            speeds = self.sized_speeds(objective)
            factors = (speeds.max() / speeds).clamp(max=self.largest)
            self.factors = _where_finite(factors, torch.ones_like(factors))
        return super().start(objective)

    def update(
        self, objective: Objective, present: Weights, sizes: Tensor | None, iteration: int
    ) -> Weights:
        """See `Weighting.update`; they stay."""
        del objective, sizes, iteration
        return present
