"""Points as nested tensors, as files hold them, and back."""

from collections.abc import Mapping
from typing import Any

import torch

from pinnsig.problem import Sites


def pack_sites(sites: Mapping[str, Sites]) -> dict[str, Any]:
    """Return the points of all terms, with their further columns, as nested tensors."""
    return {
        name: {
            "points": torch.tensor(own.points),
            "extra": {key: torch.tensor(column) for key, column in own.extra.items()},
        }
        for name, own in sites.items()
    }


def unpack_sites(packed: Mapping[str, Any]) -> dict[str, Sites]:
    """Return what `pack_sites` was given."""
    return {
        name: Sites(own["points"].numpy(), {key: c.numpy() for key, c in own["extra"].items()})
        for name, own in packed.items()
    }
