"""A phase of training: one optimiser, its limits, and what changes while it runs."""

from dataclasses import dataclass, field

import torch

from pinnsig.core.errors import SettingsError
from pinnsig.optim import Optimizer, Schedule
from pinnsig.training.mini_batches import MiniBatches
from pinnsig.training.points import NewPoints


@dataclass(frozen=True)
class Phase:
    """One optimiser for a number of iterations.

    Args:
        optimizer: one of ours; `TorchOptimizer` makes one of PyTorch's.
        iterations: at most so many of the optimiser's iterations.
        max_evaluations: at most so many evaluations of loss and gradient; None means no limit.
        max_seconds: no evaluation begins later than this after the phase's start.
        stop_loss: stop once the loss is as low.
        stop_error: stop once the relative L2 error is as low.
        schedule: of the learning rate.
        dtype: the precision from here on; None means as before.
        new_points: how points are drawn anew when the phase starts; None keeps them.
        every: draw them again every so many iterations; 0 means at the start only.
        batches: the points of each iteration, of a first-order method; None means all.

    Raises:
        SettingsError: a number that is out of range, or something that the optimiser cannot have:
            a schedule without a learning rate, new points within a phase of L-BFGS.
        TypeError: an optimiser that is not a `pinnsig.optim.Optimizer`.
    """

    optimizer: Optimizer
    iterations: int
    max_evaluations: int | None = None
    max_seconds: float | None = None
    stop_loss: float | None = None
    stop_error: float | None = None
    schedule: Schedule = field(default_factory=Schedule)
    dtype: torch.dtype | None = None
    new_points: NewPoints | None = None
    every: int = 0
    batches: MiniBatches | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.optimizer, Optimizer):
            raise TypeError(
                f"a phase needs an optimiser of pinnsig.optim, not "
                f"{type(self.optimizer).__name__}: use Adam(...), or TorchOptimizer(...)"
            )
        name = self.optimizer.name
        for what, count in (("iterations", self.iterations), ("evaluations", self.max_evaluations)):
            if count is not None and count < 0:
                raise SettingsError(f"{name}: {count} {what} cannot be")
        self.check_schedule()
        if self.every and self.new_points is None:
            raise SettingsError(f"{name}: every = {self.every} says when, points = fresh says how")

        if self.batches is not None and self.new_points is not None:
            raise SettingsError(f"{name}: batch takes new points at each iteration by itself")

    def check_batches(self) -> None:
        """Refuse batches of points where the optimiser compares losses.

        Raises:
            SettingsError: it does.
        """
        if self.batches is not None and not self.optimizer.first_order:
            raise SettingsError(
                f"{self.optimizer.name} compares losses at the same points: batch is for adam, "
                "adamw, radam, muon and PyTorch's first-order methods"
            )

    def check_schedule(self) -> None:
        """Refuse a schedule where the optimiser has no learning rate.

        Raises:
            SettingsError: it has none.
        """
        if self.schedule != Schedule() and not self.optimizer.scheduled:
            raise SettingsError(
                f"{self.optimizer.name} has no learning rate: it takes no schedule or warm-up"
            )
