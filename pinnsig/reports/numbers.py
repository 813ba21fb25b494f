"""Arrays as short JSON: few digits, null for what is not finite."""

import math
from typing import Any

import numpy as np

DIGITS = 5


def short(values: Any) -> Any:
    """Return numbers, in nested lists as in an array, with five significant digits."""
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if isinstance(values, list | tuple):
        return [short(value) for value in values]
    if values is None or not math.isfinite(values):
        return None
    return float(f"{values:.{DIGITS}g}")
