"""Dense quasi-Newton methods of Broyden's family: BFGS, self-scaled BFGS, self-scaled Broyden."""

import math
from typing import Any

from torch import Tensor

from pinnsig.core.memory import in_words, require
from pinnsig.derivatives.compiled import compiler_notice
from pinnsig.optim.base import Layout
from pinnsig.optim.dense import DenseInverse
from pinnsig.optim.quasi_newton import QuasiNewton
from pinnsig.optim.symmetric import compiled, stored_bytes

NOTABLE_BYTES = 10**9
"""What is worth a word before training."""


class SSBroyden(QuasiNewton):
    """Self-scaled Broyden with a dense inverse Hessian H, and a strong-Wolfe line search.

    Al-Baali, J. Optim. Theory Appl. 96 (1998), 533-553; with the choices of Urban, Stefanou and
    Pons, J. Comput. Phys. 523 (2025), 113656.
    H takes P (P + 1) / 2 numbers where a C compiler is at hand on a CPU, else P^2.

    Args:
        gradient_tolerance, change_tolerance, c1, c2, trials: see `QuasiNewton`.

    Raises:
        SettingsError: a setting out of its range.
    """

    name = "ssbroyden"
    precise = True

    @classmethod
    def rule(cls, b: float, h: float, parameters: int) -> tuple[float, float]:
        """tau and phi; see `pinnsig.optim.dense.Rule`."""
        a = max(b * h - 1, 0.0)  # 0 where y and B s are parallel, by Cauchy and Schwarz
        c = math.sqrt(a / (1 + a))
        r = min(1.0, h / ((1 + a) * (1 + c)))  # h (1 - c), without cancellation
        lowest = (r - 1) / a if a > 0 else 0.0 if r == 1 else -math.inf
        theta = max(lowest, min(1 / r, (1 - b) / b))  # 0 is BFGS, 1 is DFP
        sigma = max(r, 1 + theta * a)  # which rounding may put below what it is for `lowest`
        root = sigma ** (1 / (1 - parameters)) if parameters > 1 else 1.0
        first = min(1.0, 1 / b)
        tau = min(first * root, sigma) if theta <= 0 else first * min(root, 1 / theta)
        return tau, (1 - theta) / sigma

    def prepare(self, layout: Layout) -> str | None:
        """See `Optimizer.prepare`.

        Raises:
            SettingsError: H, with what a checkpoint of it takes, is larger than the memory left.
        """
        count = layout.parameters
        held = stored_bytes(layout.parameters, layout.dtype, layout.device)
        copied = layout.dtype.itemsize * count * (count + 1) // 2
        require(
            held + copied,
            f"{self.name}: the inverse Hessian of {count:,} parameters ({in_words(held)}) and its "
            f"copy in checkpoints ({in_words(copied)}) on {layout.device.type}",
            "choose lm (Gauss-Newton) or lbfgs, or a smaller network",
            layout.device,
        )
        notes = []
        if held > NOTABLE_BYTES:
            notes.append(f"its inverse Hessian takes {in_words(held)}")
        torchs = layout.device.type == "cpu" and not compiled(layout.dtype)
        if torchs and compiler_notice() is None:  # else the loss says it of all that is compiled
            notes.append(
                "without a C compiler an iteration takes about four times as long beside the loss"
            )
        return f"{self.name}: {'; '.join(notes)}" if notes else None

    def start_curvature(self, theta: Tensor) -> DenseInverse:
        """See `QuasiNewton.start_curvature`."""
        return DenseInverse(self.rule, theta)

    def restore_curvature(self, state: dict[str, Any], like: Tensor) -> DenseInverse:
        """See `QuasiNewton.restore_curvature`."""
        return DenseInverse.restored(self.rule, state, like)


class SSBFGS(SSBroyden):
    """BFGS whose H is scaled by max(1, s.B s / y.s) first; otherwise see `SSBroyden`."""

    name = "ssbfgs"

    @classmethod
    def rule(cls, b: float, h: float, parameters: int) -> tuple[float, float]:
        """See `SSBroyden.rule`."""
        del h, parameters
        return min(1.0, 1 / b), 1.0


class BFGS(SSBroyden):
    """BFGS without scaling; otherwise see `SSBroyden`."""

    name = "bfgs"

    @classmethod
    def rule(cls, b: float, h: float, parameters: int) -> tuple[float, float]:
        """See `SSBroyden.rule`."""
        del b, h, parameters
        return 1.0, 1.0
