"""Adam's learning rate: proportional to omega = 1/f'(0) for odd-sigmoid activations."""

from pinnsig.activations import Activation
from pinnsig.core.errors import CalibrationError

OTHERS = 1e-3
"""The learning rate for activations without omega: Adam's own, Kingma and Ba 2015."""


def suited_learning_rate(activation: Activation) -> float:
    """Adam's learning rate for an activation: 1e-4 omega in the odd-sigmoid class, else 1e-3."""
    return default_learning_rate(activation.omega) if activation.odd_sigmoid else OTHERS


def default_learning_rate(omega: float) -> float:
    """Adam's learning rate for an activation with omega = 1/f'(0): 1e-4 omega.

    Raises:
        CalibrationError: omega is not positive.

    Source: paper, appendix C, experimental setting.
    """
    return 1e-4 * _positive(omega)


def learning_rate_band(omega: float) -> tuple[float, float]:
    """The band (1e-5 omega, 1e-3 omega) in which Adam's learning rate is searched.

    Raises:
        CalibrationError: omega is not positive.

    Source: paper, section 4.2.
    """
    return 1e-5 * _positive(omega), 1e-3 * omega


def _positive(omega: float) -> float:
    if not 0 < omega < float("inf"):
        raise CalibrationError(f"omega must be positive and finite, not {omega}")
    return omega
