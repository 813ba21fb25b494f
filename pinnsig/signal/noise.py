"""Initial weights with a diagonal and a noise scale of one's own choice."""

from dataclasses import dataclass
from typing import ClassVar

from pinnsig.activations import Activation
from pinnsig.initializers import Calibrated, Scales


@dataclass(frozen=True)
class GivenNoise(Calibrated):
    """W = D + Z as in the calibrated scheme, with sigma_z given in place of found.

    Attributes:
        sigma: sigma_z.
        gaussian: leave D out, so that sigma is the sigma_w of Gaussian weights.
    """

    name: ClassVar[str] = "given-noise"
    sigma: float = 0.0
    gaussian: bool = False

    def scales(self, activation: Activation, depth: int) -> Scales:  # noqa: ARG002
        """The noise as it was given, at any depth."""
        if self.gaussian:
            return Scales(sigma_w=self.sigma, sigma_b=self.sigma_b)
        diagonal = activation.omega + self.epsilon
        return Scales(diagonal=diagonal, sigma_z=self.sigma, sigma_b=self.sigma_b)
