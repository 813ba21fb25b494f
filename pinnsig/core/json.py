"""Strict JSON: text that any program can read."""

import json
import math
from collections.abc import Mapping
from typing import Any


def strict(value: Any) -> Any:
    """The same data with null in the place of numbers that JSON does not know."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [strict(item) for item in value]
    return value


def dumps(data: Any, indent: int | None = None) -> str:
    """Strict JSON text, ASCII only."""
    return json.dumps(strict(data), allow_nan=False, indent=indent)
