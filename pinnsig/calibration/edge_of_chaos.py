"""The edge of chaos: Gaussian weights whose gradients neither vanish nor explode."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import root_scalar

from pinnsig.activations import Activation
from pinnsig.calibration.mean_field import evaluate, second_moments
from pinnsig.calibration.quadrature import Array, normal_expectation
from pinnsig.core.errors import CalibrationError

_STEP = 1.25  # ratio of neighbouring variances in the search for a bracket
_SIGMA_B = (1e-100, 1e50)  # the bounds within which sigma_b^2 and its solution are safe doubles


@dataclass(frozen=True)
class EdgeOfChaos:
    """A point of the edge-of-chaos curve.

    Attributes:
        sigma_w: weights are N(0, sigma_w^2 / N).
        sigma_b: biases are N(0, sigma_b^2).
        q: variance of the preactivations that the variance map leaves unchanged.
        chi: sigma_w^2 E[f'(sqrt(q) z)^2]; 1 up to rounding.
    """

    sigma_w: float
    sigma_b: float
    q: float
    chi: float


def edge_of_chaos(activation: Activation, sigma_b: float, nodes: int | None = None) -> EdgeOfChaos:
    """The sigma_w and q at which q is a fixed point and chi = 1, for a given sigma_b.

    Solves q = sigma_w^2 E[f(sqrt(q) z)^2] + sigma_b^2 and sigma_w^2 E[f'(sqrt(q) z)^2] = 1, reduced
    to q - E[f^2] / E[f'^2] = sigma_b^2. The left side is 0 at q = 0, never negative (Gaussian
    Poincare inequality) and close to q at last, so every sigma_b has a solution. It rises for all
    activations of this package; should there be several solutions, this is the smallest q (of any
    two that lie a factor 1.25 apart). sigma_b = 0 gives sigma_w = 1/f'(0) and q = 0.

    Args:
        activation: f.
        sigma_b: standard deviation of the biases, >= 0.
        nodes: Gauss-Hermite order, or None for as many nodes as needed
            (`pinnsig.calibration.normal_expectation`).

    Raises:
        ActivationError: f is not odd-sigmoid: then q may have no solution, or several.
        CalibrationError: sigma_b is negative, not finite, or beyond what can be solved. With a
            given even `nodes` large ones cannot; the message says which can.

    Source: paper, section 3; Schoenholz et al. 2017; Hayou et al. 2019.
    """
    activation.require_odd_sigmoid("the edge of chaos")
    if sigma_b == 0:
        return EdgeOfChaos(sigma_w=activation.omega, sigma_b=0.0, q=0.0, chi=1.0)
    if not _SIGMA_B[0] <= sigma_b <= _SIGMA_B[1]:
        low, high = _SIGMA_B
        raise CalibrationError(f"sigma_b must be 0, or from {low:g} to {high:g}, not {sigma_b}")

    def excess(log_q: float) -> float:
        return bias_variance(activation, float(np.exp(log_q)), nodes) / sigma_b**2 - 1

    root = root_scalar(excess, bracket=_bracket(activation, sigma_b, nodes), xtol=1e-15)
    q = float(np.exp(root.root))
    slope = second_moments(activation, q, nodes)[1]
    sigma_w = slope**-0.5
    return EdgeOfChaos(sigma_w, float(sigma_b), q, chi=sigma_w**2 * slope)


def bias_variance(activation: Activation, q: float, nodes: int | None = None) -> float:
    """The sigma_b^2 of the point of the curve with variance q > 0: q - E[f^2] / E[f'^2].

    For small q the two terms agree to leading orders. With r(x) = f'(0) x - f(x), Stein's identity
    E[x r(x)] = q E[r'(x)] cancels them by hand: q E[f'^2] - E[f^2] = q E[r'^2] - E[r^2]. That form
    is used where it sums the smaller numbers; a Gauss-Hermite rule of given order obeys the
    identity only roughly, and keeps to the plain form.
    """
    if nodes is not None:
        value, slope = second_moments(activation, q, nodes)
        return q - value / slope if slope else -np.inf  # no node sees the slope any more

    def squares(z: Array) -> Array:
        x = np.sqrt(q) * z
        f, df = evaluate(activation, x, 1)
        s = activation.slope
        return np.stack([f**2, q * df**2, (s * x - f) ** 2, q * (s - df) ** 2])

    value, slope, r_value, r_slope = normal_expectation(squares)
    gap = r_slope - r_value if r_slope < slope else slope - value
    return q * float(gap / slope)


def _bracket(activation: Activation, sigma_b: float, nodes: int | None) -> tuple[float, float]:
    """Neighbouring log q between which `bias_variance` first passes sigma_b^2."""
    q = sigma_b**2 / _STEP  # no solution lies below sigma_b^2, for E[f^2] >= 0
    while q < _SIGMA_B[1] ** 2 * _STEP:
        if bias_variance(activation, _STEP * q, nodes) >= sigma_b**2:
            return float(np.log(q)), float(np.log(_STEP * q))
        q *= _STEP
    largest = max(bias_variance(activation, q, nodes) for q in np.geomspace(1e-30, 1e30, 601))
    raise CalibrationError(
        f"no point on the edge of chaos found for sigma_b = {sigma_b:g} with nodes = {nodes}; "
        f"sigma_b up to about {np.sqrt(max(largest, 0.0)):.2g} can be solved, or any with nodes = "
        "None"
    )
