"""Points outside a domain, in words, with a guess at the unit that would put them inside."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pinnsig.core.types import ColumnArray, MaskArray, PointArray

ROUNDING = 1e-6  # of an interval: what lies no further outside is on its end
FACTORS = (1e3, 1e6, 1e2, 1e1, 1e9, 1e12)
TIME_FACTORS = (1e3, 60.0, 3600.0, 1e6, 1e9)
"""By which data in other units are off, the likely ones first."""


def describe_outside(
    points: PointArray,
    off: MaskArray,
    names: Sequence[str],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    time: str | None,
    units: bool,
) -> str:
    """Say how many points lie outside, and where.

    Args:
        points: any.
        off: which of them lie outside, some at least.
        names, lower, upper: the domain's coordinates and the box around it.
        time: which of them is time.
        units: whether to say that another unit would put all of them inside.
    """
    room = ROUNDING * (upper - lower)
    found = []
    for i, name in enumerate(names):
        values, low, high = points[:, i], float(lower[i]), float(upper[i])
        some = values[(values < low - room[i]) | (values > high + room[i])]
        if not len(some):
            continue
        place = f"{some.min():.6g}" + (f" to {some.max():.6g}" if np.ptp(some) else "")
        text = f"{name} = {place}, where the domain has {low:g} to {high:g}"
        factors = TIME_FACTORS if name == time else FACTORS
        most = units and len(some) > 0.5 * len(values)
        factor = _other_unit(values, low, high, factors) if most else 0
        found.append(
            text + (f" (a factor of {factor:g}: is it in another unit?)" if factor else "")
        )
    if not found:
        place = zip(names, points[off][0], strict=True)
        found = ["such as " + ", ".join(f"{name} = {value:.6g}" for name, value in place)]
    return f"{int(off.sum())} of {len(points)} points lie outside the domain: {'; '.join(found)}"


def _other_unit(values: ColumnArray, low: float, high: float, factors: Sequence[float]) -> float:
    """The factor that puts all values inside, where they fill a tenth of the interval, or 0."""
    for factor in factors:
        for scaled in (values / factor, values * factor):
            fills = max(np.ptp(scaled), np.abs(scaled).max()) >= 0.1 * (high - low)
            if fills and scaled.min() >= low and scaled.max() <= high:
                return factor
    return 0.0
