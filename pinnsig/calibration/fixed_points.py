"""The nonzero fixed point that appears when the gain passes omega (pitchfork bifurcation)."""

import math

import numpy as np
from scipy.optimize import root_scalar

from pinnsig.activations import Activation
from pinnsig.calibration.mean_field import evaluate
from pinnsig.calibration.quadrature import graded_legendre
from pinnsig.core.errors import CalibrationError

_NEAR = 1.1  # below this a / omega the equation is solved for the small difference from omega
_STEP = 2.0  # ratio of neighbouring y in the search for a bracket


def fixed_point(activation: Activation, a: float) -> float:
    """The xi_a >= 0 with f(a xi_a) = xi_a: positive for a > omega = 1/f'(0), else 0.

    With y = a xi_a this is f(y) / y = 1 / a, whose left side falls from 1 / omega to 0. Near the
    bifurcation both sides are subtracted from 1 / omega, and the left one is taken from f'' so
    that nothing cancels: accurate to 1e-14 for every a.

    Raises:
        ActivationError: f is not odd-sigmoid.
        CalibrationError: a is not positive and finite.

    Source: paper, section 4.1, proposition 1 and theorem 1.
    """
    if not 0 < a < math.inf:
        raise CalibrationError(f"the gain a must be positive and finite, not {a}")
    omega = activation.omega
    if a <= omega:
        return 0.0

    def excess(y: float) -> float:
        if a > _NEAR * omega:
            return math.log(a * float(evaluate(activation, np.array(y), 0)[0]) / y)
        return math.log((a - omega) / (a * omega) / max(_lost_slope(activation, y), 1e-300))

    low = a * activation.bound / _STEP  # the solution lies below twice this, for xi_a <= bound
    while excess(low) < 0:
        low /= _STEP
    bracket = (0.0, math.log(_STEP) + 1e-9)  # of t in y = low e^t
    root = root_scalar(lambda t: excess(low * math.exp(t)), bracket=bracket, xtol=1e-15)
    return low * math.exp(root.root) / a


def _lost_slope(activation: Activation, y: float) -> float:
    """f'(0) - f(y) / y = -y int_0^1 (1 - u) f''(y u) du."""
    u, w = graded_legendre(24, splits=8)
    return -y * float(np.sum(w * (1 - u) * evaluate(activation, y * u, 2)[2]))
