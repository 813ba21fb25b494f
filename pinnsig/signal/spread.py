"""How far values fill the range that an activation offers."""

import numpy as np
from numpy.typing import NDArray

from pinnsig.calibration.quadrature import Array
from pinnsig.core.errors import SignalError

BINS = 51  # odd, so that a signal that has died down lies in one bin


def histogram(values: NDArray[np.floating], bound: float, bins: int = BINS) -> tuple[Array, Array]:
    """Shares p_i of the values in equal bins over [-bound, bound], and the edges.

    Raises:
        SignalError: fewer than two bins, no values, or values that are not finite.
    """
    if bins < 2:
        raise SignalError(f"a histogram needs at least 2 bins, not {bins}")
    if not values.size or not np.all(np.isfinite(values)):
        raise SignalError("the spread is that of at least one value, and of finite ones")
    # rounding may carry a saturated activation past the bound
    counts, edges = np.histogram(values.clip(-bound, bound), bins, (-bound, bound))
    return counts / values.size, edges


def spread(values: NDArray[np.floating], bound: float, bins: int = BINS) -> float:
    """Normalised histogram entropy, from 0 (one bin) to 1 (every bin alike).

    Spread = -sum p_i log p_i / log B over B bins on [-bound, bound]. With n values it cannot pass
    log n / log B.

    Source: paper, appendix B.5, where bound = 1 and B is left open.
    """
    p, _ = histogram(values, bound, bins)
    p = p[p > 0]
    return float(np.sum(p * -np.log(p)) / np.log(bins))
