"""Mean-field recursions for many noise scales at once, and depth scales.

Both schemes obey the same maps with their weight variance: sigma_w^2 for Gaussian weights,
omega^2 + sigma_z^2 for the calibrated scheme.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline

from pinnsig.activations import Activation
from pinnsig.calibration import chi, normal_expectation, second_moments, variance_map
from pinnsig.calibration.mean_field import evaluate
from pinnsig.calibration.quadrature import Array
from pinnsig.core.errors import SignalError

_DECADES = (-18, 6)  # of f'(0)^2 q, over which the moments are tabulated
_PER_DECADE = 16


class Moments:
    """E[f(h)^2] and E[f'(h)^2] for h ~ N(0, q) as functions of arrays of q.

    Cubic splines in log q, exact to about 1e-7; below the table f is linear, above it saturated.
    """

    def __init__(self, activation: Activation) -> None:
        activation.require_odd_sigmoid("the mean field's table")
        slope, bound = activation.slope, activation.bound
        low, high = _DECADES
        # the unit (bound / slope)^2 makes the table fit activations of any scale
        self._unit = (bound / slope) ** 2
        q = self._unit * np.logspace(low, high, (high - low) * _PER_DECADE + 1)
        value, square = np.array([second_moments(activation, v) for v in q]).T
        self._log_q = np.log(q)
        self._value = CubicSpline(self._log_q, np.log(value / q))
        self._slope = CubicSpline(self._log_q, np.log(square))
        self._zero = slope**2

    def __call__(self, q: Array) -> tuple[Array, Array]:
        """(E[f^2], E[f'^2]), each of the shape of q >= 0."""
        with np.errstate(divide="ignore"):
            log_q = np.clip(np.log(q), self._log_q[0], self._log_q[-1])
        return q * np.exp(self._value(log_q)), np.exp(self._slope(log_q))


def chi_map(
    activation: Activation,
    weight_variances: ArrayLike,
    depths: Sequence[int],
    sigma_b: float = 0.0,
    q_0: float = 1.0,
) -> Array:
    """chi of the last layer for each depth and weight variance, shape (depths, variances).

    Args:
        activation: f.
        weight_variances: sigma_w^2, or omega^2 + sigma_z^2; shape (n,).
        depths: L, each >= 1, in any order.
        sigma_b: standard deviation of the biases.
        q_0: variance of the inputs.

    Raises:
        SignalError: a depth is below 1.
    """
    if min(depths) < 1:
        raise SignalError(f"a depth must be at least 1, not {min(depths)}")
    moments = Moments(activation)
    w = np.asarray(weight_variances, dtype=np.float64)
    q = w * q_0 + sigma_b**2
    found = {}
    for layer in range(1, max(depths) + 1):
        value, slope = moments(q)
        if layer in set(depths):
            found[layer] = w * slope
        following = w * value + sigma_b**2
        if np.all(np.abs(following - q) <= 4e-16 * q):  # all are at their fixed points
            break
        q = following
    settled = w * moments(q)[1]
    return np.array([found.get(depth, settled) for depth in depths])


@dataclass(frozen=True)
class DepthScales:
    """Over how many layers two things are forgotten exponentially; inf at a critical point.

    Attributes:
        q: the fixed point of the variance map.
        chi: there, the factor by which a small difference of two inputs grows.
        xi_q: depth scale of the variance, -1 / log of the slope of the variance map.
        xi_c: depth scale of the correlation of two inputs, 1 / |log chi|.
    """

    q: float
    chi: float
    xi_q: float
    xi_c: float


def depth_scales(
    activation: Activation, weight_variance: float, sigma_b: float = 0.0, steps: int = 10_000
) -> DepthScales:
    """The mean-field depth scales of an initialisation.

    On the edge of chaos xi_c is infinite: chi = 1 to within rounding, 1e-10 here.

    Raises:
        SignalError: the variance has not settled after `steps` layers.

    Source: Schoenholz et al. 2017, sections 3 and 4; paper, section 3.
    """
    activation.require_odd_sigmoid("the depth scale")
    if sigma_b == 0 and weight_variance <= activation.omega**2:
        # the variance falls to 0, where both maps are linear
        gain = weight_variance * activation.slope**2
        return DepthScales(0.0, gain, _scale(gain), _scale(gain))
    q = weight_variance + sigma_b**2
    for _ in range(steps):
        previous, q = q, variance_map(activation, q, weight_variance, sigma_b)
        if abs(q - previous) <= 1e-14 * q:
            break
    else:
        raise SignalError(f"the variance has not settled after {steps} layers; it is {q:g}")
    gain = chi(activation, q, weight_variance)

    def curvature(z: Array) -> Array:
        f, _, f2 = evaluate(activation, math.sqrt(q) * z, 2)
        return f * f2

    bend = weight_variance * float(normal_expectation(curvature))
    return DepthScales(q, gain, _scale(gain + bend), _scale(gain))


def _scale(factor: float) -> float:
    """Layers over which a quantity changes by e, if each multiplies it by a factor."""
    if factor <= 0:
        return 0.0
    rate = abs(math.log(factor))
    return math.inf if rate < 1e-10 else 1 / rate
