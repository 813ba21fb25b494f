"""The surrogate's negative rate, the noise scale that reaches it, and the rule p(L).

Scalar surrogate: x_{l+1} = f(a x_l) with gains a ~ N(omega, sigma^2) drawn afresh in each layer.
The sign flips with probability p_- = Phi(-omega/sigma) a layer, whatever the odd-sigmoid f.
"""

import math
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erf, erfc, erfcinv, erfinv

from pinnsig.core.errors import CalibrationError

_SQRT2 = math.sqrt(2.0)


@overload
def negative_rate(  # pyright: ignore[reportOverlappingOverload]
    sigma: float, L: float, omega: float = 1.0
) -> float: ...
@overload
def negative_rate(
    sigma: ArrayLike, L: ArrayLike, omega: ArrayLike = 1.0
) -> NDArray[np.float64]: ...
def negative_rate(
    sigma: ArrayLike, L: ArrayLike, omega: ArrayLike = 1.0
) -> float | NDArray[np.float64]:
    """Probability that the surrogate has changed sign after L layers.

    pi_L(sigma) = (1 - (1 - 2 p_-)^L) / 2 with p_- = Phi(-omega / sigma).

    Args:
        sigma: standard deviation of the gains, >= 0; all arguments broadcast.
        L: number of layers, >= 1.
        omega: mean gain, > 0.

    Returns:
        The rate in [0, 1/2): a float for scalars, otherwise an array.

    Raises:
        CalibrationError: an argument is out of range.

    Source: paper, appendix A, lemma on the sign recursion, eq. (pi-closed).
    """
    sigma, L, omega = _arrays(sigma, L, omega)
    _require(sigma >= 0, sigma, "sigma must be >= 0")
    _require_depth_and_omega(L, omega)
    with np.errstate(divide="ignore", over="ignore"):
        x = omega / (sigma * _SQRT2)
        # log(1 - 2 p_-) = log erf(x), taken from the side that does not cancel
        log_kept = np.where(x < 0.5, np.log(erf(x)), np.log1p(-erfc(np.maximum(x, 0.5))))
    return _plain(-0.5 * np.expm1(L * log_kept))


@overload
def sigma_star(  # pyright: ignore[reportOverlappingOverload]
    p: float, L: float, omega: float = 1.0
) -> float: ...
@overload
def sigma_star(p: ArrayLike, L: ArrayLike, omega: ArrayLike = 1.0) -> NDArray[np.float64]: ...
def sigma_star(p: ArrayLike, L: ArrayLike, omega: ArrayLike = 1.0) -> float | NDArray[np.float64]:
    """Noise scale at which the surrogate's negative rate after L layers is p.

    sigma* = -omega / Phi^{-1}((1 - (1 - 2p)^{1/L}) / 2), the inverse of `negative_rate`.
    Accurate to a few units in the last place at any depth; sigma*(0, L, omega) = 0.

    Args:
        p: target negative rate, 0 <= p < 1/2; all arguments broadcast.
        L: number of layers, >= 1.
        omega: mean gain, > 0.

    Returns:
        sigma*: a float for scalars, otherwise an array.

    Raises:
        CalibrationError: an argument is out of range.

    Source: paper, section 4.2, eq. (sigma-star).
    """
    p, L, omega = _arrays(p, L, omega)
    _require((p >= 0) & (p < 0.5), p, "the negative rate p must be in [0, 0.5)")
    _require_depth_and_omega(L, omega)
    log_kept = np.log1p(-2.0 * p) / L
    kept, flipped = np.exp(log_kept), -np.expm1(log_kept)  # 1 - 2 p_- and 2 p_-
    # -Phi^{-1}(p_-) = sqrt(2) erfinv(1 - 2 p_-) = sqrt(2) erfcinv(2 p_-): use the smaller argument
    quantile = _SQRT2 * np.where(
        kept < flipped, erfinv(np.minimum(kept, 0.5)), erfcinv(np.minimum(flipped, 0.5))
    )
    return _plain(omega / quantile)


def target_negative_rate(depth: int, p_real: float = 0.4, threshold: int = 10) -> float:
    """Surrogate target p(L) at which a real network's negative rate is about p_real.

    p(L) = p_real for L <= threshold, else 2.05 exp(-0.133 L). The fit was made for p_real = 0.4
    and depths from 10; beyond about 5600 layers it underflows to 0, that is, to no noise.

    Raises:
        CalibrationError: depth < 1, p_real outside [0, 1/2), or threshold < 10 (where the fit
            would give a rate above 1/2).

    Source: paper, section 4.2, the rule p(L); appendix B.4.
    """
    if not depth >= 1:
        raise CalibrationError(f"depth must be at least 1, not {depth}")
    if not 0 <= p_real < 0.5:
        raise CalibrationError(f"p_real must be in [0, 0.5), not {p_real}")
    if not threshold >= 10:
        raise CalibrationError(f"threshold must be at least 10, where the fit begins: {threshold}")
    return p_real if depth <= threshold else 2.05 * math.exp(-0.133 * depth)


def _arrays(*values: ArrayLike) -> list[NDArray[np.float64]]:
    return [np.asarray(value, dtype=np.float64) for value in values]


def _plain(value: NDArray[np.float64]) -> float | NDArray[np.float64]:
    return float(value) if np.ndim(value) == 0 else value


def _require(allowed: NDArray[np.bool_], values: NDArray[np.float64], rule: str) -> None:
    if not np.all(allowed):
        raise CalibrationError(f"{rule}, not {values[~allowed].flat[0]}")


def _require_depth_and_omega(L: NDArray[np.float64], omega: NDArray[np.float64]) -> None:
    _require((L >= 1) & np.isfinite(L), L, "the depth L must be at least 1")
    _require((omega > 0) & np.isfinite(omega), omega, "omega must be positive and finite")
