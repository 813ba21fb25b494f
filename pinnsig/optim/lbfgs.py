"""L-BFGS with a strong-Wolfe line search."""

from typing import Any

from torch import Tensor

from pinnsig.core.errors import SettingsError
from pinnsig.core.memory import require
from pinnsig.optim.base import Layout
from pinnsig.optim.memory import Memory
from pinnsig.optim.quasi_newton import QuasiNewton


class LBFGS(QuasiNewton):
    """Limited-memory BFGS; one step is one direction and one line search.

    Args:
        history: pairs kept.
        gradient_tolerance, change_tolerance, c1, c2, trials: see `QuasiNewton`.

    Raises:
        SettingsError: a setting out of its range.
    """

    name = "lbfgs"

    def __init__(
        self,
        history: int = 50,
        gradient_tolerance: float = 1e-12,
        change_tolerance: float = 0.0,
        c1: float = 1e-4,
        c2: float = 0.9,
        trials: int = 25,
    ) -> None:
        super().__init__(gradient_tolerance, change_tolerance, c1, c2, trials)
        if history < 1:
            raise SettingsError(f"lbfgs: history = {history} must be >= 1")
        self.history = history

    def prepare(self, layout: Layout) -> None:
        """See `Optimizer.prepare`.

        Raises:
            SettingsError: the pairs do not fit into memory.
        """
        require(
            2 * (self.history + 1) * layout.parameters * layout.dtype.itemsize,
            f"lbfgs: {self.history:,} pairs of vectors of {layout.parameters:,} parameters",
            "take a smaller history or a smaller network",
            layout.device,
        )

    def start_curvature(self, theta: Tensor) -> Memory:
        """See `QuasiNewton.start_curvature`."""
        return Memory(self.history, theta)

    def restore_curvature(self, state: dict[str, Any], like: Tensor) -> Memory:
        """See `QuasiNewton.restore_curvature`."""
        return Memory.restored(self.history, state, like)

    def goes_on_exactly(self, curvature: dict[str, Any]) -> bool:
        """See `QuasiNewton.goes_on_exactly`; not with room for another number of pairs."""
        return len(curvature["sy"]) == self.history + 1
