"""The surrogate target p_sur(L) at which real networks reach a wanted negative rate."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import root_scalar

from pinnsig.activations import Activation
from pinnsig.calibration import negative_rate
from pinnsig.core.errors import SignalError
from pinnsig.signal.rates import Rate, network_rates

_SIGMA = (1e-3, 1e2)  # of sigma_z / omega: almost no change of signs, and a coin's


@dataclass(frozen=True)
class SurrogateTarget:
    """A noise scale found for one depth.

    Attributes:
        depth: L.
        sigma_z: where networks reach the wanted rate.
        p: p_sur, the closed form pi_L(sigma_z); `Calibrated(p=...)` gives sigma_z back.
        log_error: standard error of log p.
        reached: the networks' rate at sigma_z.
    """

    depth: int
    sigma_z: float
    p: float
    log_error: float
    reached: Rate


def surrogate_target(
    activation: Activation, depth: int, width: int, p_real: float = 0.4, **sampling: Any
) -> SurrogateTarget:
    """Search the p at which networks of this width have negative rate p_real after `depth` layers.

    Every step of the search meets the same random numbers, so that the rate is a function of
    sigma_z alone.

    Args:
        activation: f.
        depth: L.
        width: N.
        p_real: the wanted rate, in (0, 1/2).
        sampling: `networks`, `seed`, `input_scale`, `dtype`, `device` of `network_rates`.

    Raises:
        SignalError: p_real is out of range, or not reached at any sigma_z.

    Source: paper, appendix B.4, figure on the best surrogate target.
    """
    if not 0 < p_real < 0.5:
        raise SignalError(f"the wanted negative rate must be in (0, 0.5), not {p_real}")

    def rate(log_sigma: float) -> Rate:
        sigma = math.exp(log_sigma)
        return network_rates(activation, sigma, depth, width, **sampling)[-1]

    low, high = (math.log(activation.omega * s) for s in _SIGMA)
    if not rate(low).value < p_real < rate(high).value:
        raise SignalError(
            f"no noise gives the negative rate {p_real:g} at depth {depth}, width {width}"
        )
    root = root_scalar(lambda t: rate(t).value - p_real, bracket=(low, high), xtol=1e-4).root
    step = 0.05
    slope = (rate(root + step).value - rate(root - step).value) / (2 * step)

    def log_p(t: float) -> float:
        return math.log(negative_rate(math.exp(t), depth, activation.omega))

    log_slope = (log_p(root + step) - log_p(root - step)) / (2 * step)
    reached = rate(root)
    p = math.exp(log_p(root))
    return SurrogateTarget(
        depth, math.exp(root), p, abs(reached.error * log_slope / slope), reached
    )


@dataclass(frozen=True)
class ExponentialFit:
    """p(L) = amplitude exp(-rate L), by least squares on log p, with standard errors."""

    amplitude: float
    rate: float
    amplitude_error: float
    rate_error: float

    def at(self, depth: float) -> float:
        """p(L)."""
        return self.amplitude * math.exp(-self.rate * depth)


def fit_exponential(
    depths: ArrayLike, targets: ArrayLike, from_depth: float = 10
) -> ExponentialFit:
    """Fit p(L) = A exp(-k L) to the depths from `from_depth` on.

    The standard errors come from the scatter about the line, and count its curvature as scatter.

    Raises:
        SignalError: fewer than three such depths, or a target that is not positive.

    Source: paper, section 4.2, where A = 2.05 and k = 0.133 for tanh at width 64.
    """
    x, y = np.asarray(depths, dtype=np.float64), np.asarray(targets, dtype=np.float64)
    x, y = x[x >= from_depth], y[x >= from_depth]
    if len(x) < 3 or np.any(y <= 0):
        raise SignalError(f"a fit needs three depths >= {from_depth:g} with targets above 0")
    (slope, offset), covariance = np.polyfit(x, np.log(y), 1, cov=True)
    amplitude = math.exp(offset)
    return ExponentialFit(
        amplitude,
        -float(slope),
        amplitude * math.sqrt(covariance[1, 1]),
        math.sqrt(covariance[0, 0]),
    )
