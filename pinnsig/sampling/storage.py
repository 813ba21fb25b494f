"""Points as nested tensors, as files hold them, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from pinnsig.problem import Sites


def pack_sites(sites: Mapping[str, Sites]) -> dict[str, Any]:
    """Return the points of all terms, with their further columns, as nested tensors."""
    return {
        name: {
            "points": _tensor(own.points),
            "extra": {key: _tensor(column) for key, column in own.extra.items()},
        }
        for name, own in sites.items()
    }


def _tensor(values: Any) -> torch.Tensor:
    """The same memory, which may be most of what there is, where torch can have it."""
    return torch.from_numpy(np.require(values, requirements="W"))


def unpack_sites(packed: Mapping[str, Any]) -> dict[str, Sites]:
    """Return what `pack_sites` was given."""
    return {
        name: Sites(own["points"].numpy(), {key: c.numpy() for key, c in own["extra"].items()})
        for name, own in packed.items()
    }
