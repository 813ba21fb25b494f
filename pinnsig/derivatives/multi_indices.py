"""Multi-indices: a partial's order in each coordinate, so that u_xxt in (x, t) has (2, 1)."""

import itertools
from collections.abc import Iterator

from pinnsig.core.names import Alpha

__all__ = ["Alpha", "below"]


def below(alpha: Alpha) -> Iterator[Alpha]:
    """Every multi-index beta <= alpha, alpha itself included."""
    return itertools.product(*(range(k + 1) for k in alpha))
