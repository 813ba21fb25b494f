"""Schemes with one weight for each term, on top of the user's own: a moving average of targets."""

from abc import abstractmethod
from typing import Any, ClassVar

import torch
from torch import Tensor

from pinnsig.errors import SettingsError
from pinnsig.jacobian import jacobian_blocks
from pinnsig.objective import Objective
from pinnsig.weighting.base import Weighting

ROWS = 256  # of a Jacobian that are held at a time


class Balancing(Weighting):
    """weight_i = given_i * lambda_i, with lambda_i a moving average of a scheme's targets.

    Args:
        every: iterations between one update and the next.
        memory: share of the old value in each update, in [0, 1).

    Raises:
        SettingsError: a number out of its range.
    """

    def __init__(self, every: int = 100, memory: float = 0.9) -> None:
        super().__init__(every)
        if not 0 <= memory < 1:
            raise SettingsError(f"{self.name}: memory = {memory} must lie in [0, 1)")
        self.memory = memory
        self.factors: Tensor | None = None  # shape (terms,), on the host
        self.terms: tuple[str, ...] = ()

    @abstractmethod
    def targets(self, objective: Objective) -> Tensor:
        """Where the factors of the terms ought to be now, shape (terms,)."""

    def attach(self, objective: Objective) -> None:
        """See `Weighting.attach`."""
        self.terms = objective.term_names
        if self.factors is None:
            self.factors = torch.ones(len(self.terms), dtype=torch.float64)
        given = torch.tensor(objective.given_weights, dtype=torch.float64)
        objective.weights.copy_(given * self.factors)

    def update(self, objective: Objective, iteration: int) -> None:
        """See `Weighting.update`; a target that is not finite leaves its weight as it is."""
        if (iteration - 1) % self.every:
            return
        assert self.factors is not None
        targets = self.targets(objective).double().cpu()
        targets = torch.where(targets.isfinite(), targets, self.factors)
        self.factors = self.memory * self.factors + (1 - self.memory) * targets
        self.attach(objective)

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
        self.factors = state["factors"]
        self.attach(objective)


class GradientNorm(Balancing):
    """Every term's gradient gets the same length: lambda_i = sum_j |g_j| / |g_i|.

    Wang, Sankaran, Wang and Perdikaris, An Expert's Guide to Training PINNs (2023), algorithm 1.
    """

    name: ClassVar[str] = "gradient-norm"

    def targets(self, objective: Objective) -> Tensor:
        """See `Balancing.targets`."""
        norms = objective.term_gradients().double().norm(dim=1)
        return norms.sum() / norms


class NTKTrace(Balancing):
    """Every term converges at the same rate: lambda_i = sum_j t_j / t_i.

    t_i is the mean squared length of the rows d(residual_i)/d(theta): the trace of the term's
    block of the neural tangent kernel over its number of points. Wang, Yu and Perdikaris, J.
    Comput. Phys. 449 (2022) 110768, with means as in the Expert's Guide (2023), equation 5.
    """

    name: ClassVar[str] = "ntk-trace"

    def targets(self, objective: Objective) -> Tensor:
        """See `Balancing.targets`."""
        index = {name: i for i, name in enumerate(objective.term_names)}
        sums, counts = torch.zeros(2, len(index), dtype=torch.float64)
        for rows in jacobian_blocks(objective, ROWS):
            i = index[rows.term]
            sums[i] += rows.jacobian.square().sum(dtype=objective.weights.dtype).cpu()
            counts[i] += len(rows.residual)
        traces = sums / counts
        return traces.sum() / traces
