"""What the terms of a loss, and single collocation points, are weighted with."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pinnsig.core.errors import SettingsError
from pinnsig.core.registry import suggestion
from pinnsig.core.types import Column, Terms
from pinnsig.problem import INTERIOR, Condition


@dataclass(frozen=True)
class Weights:
    """An argument of an evaluation, which never changes it.

    Attributes:
        terms: factors on the mean squares.
        points: factors on the residuals at the collocation points; None means 1.
    """

    terms: Terms
    points: Column | None = None


def term_weights(
    names: Sequence[str],
    conditions: Mapping[str, Condition],
    given: Mapping[str, float],
    like: Tensor,
) -> Weights:
    """The weights of all terms, 1 where none is given; a term's own beats that of its group.

    Args:
        names: of the terms.
        conditions: by term; their groups (initial, boundary, data) can be named as well, and
            `residual` for all residuals of a system.
        given: by name.
        like: sets the device; squares are summed in float64 wherever that has it.

    Raises:
        SettingsError: a name that is neither a term nor a group here, or a weight out of range.
    """
    groups = {name: conditions[name].group if name in conditions else INTERIOR for name in names}
    known = list(dict.fromkeys([*names, *groups.values()]))
    for name, weight in given.items():
        if name not in known:
            raise SettingsError(
                f"weight for {name!r}: there is no such term or group: {suggestion(name, known)}"
            )
        if not 0 <= weight < math.inf:
            raise SettingsError(f"weight of {name} = {weight} must be finite and not negative")
    wide = like.dtype if like.device.type == "mps" else torch.float64
    values = [float(given.get(name, given.get(groups[name], 1.0))) for name in names]
    return Weights(torch.tensor(values, dtype=wide, device=like.device))
