"""How much a Gauss-Newton step is damped: lambda, from how well the last steps were predicted."""

from dataclasses import dataclass


@dataclass
class Damping:
    """Nielsen's rule, which goes smoothly through a gain ratio of a half.

    Nielsen, Damping parameter in Marquardt's method, IMM-REP-1999-05, equation 2.4.

    Attributes:
        value: lambda; 0 before anything is known.
        growth: what the next rejected step multiplies it with.
    """

    value: float = 0.0
    growth: float = 2.0

    def accept(self, ratio: float) -> None:
        """Meet a step that was taken, and its decrease of the loss over the predicted one."""
        self.value *= max(1 / 3, 1 - (2 * min(ratio, 1.0) - 1) ** 3)
        self.growth = 2.0

    def reject(self) -> None:
        """Meet a step that was not taken."""
        self.value *= self.growth
        self.growth *= 2
