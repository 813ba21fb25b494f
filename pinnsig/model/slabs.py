"""One solution of several models, each over a slab of time."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pinnsig.core.errors import OutsideDomainWarning
from pinnsig.core.types import FieldValues, Points
from pinnsig.model.model import Model, broadcast
from pinnsig.problem import Problem


class SlabModel(nn.Module):
    """Predicts with the model whose slab a point's time lies in; a joint is of the slab before it.

    Args:
        problem: over all of its time.
        models: in the order of time.
        ends: of the slabs, K + 1 times.
    """

    def __init__(self, problem: Problem, models: Sequence[Model], ends: Sequence[float]) -> None:
        super().__init__()
        self.problem = problem
        self.models = nn.ModuleList(models)
        self.ends = list(ends)

    @property
    def network(self) -> nn.Module:
        """The networks of all slabs."""
        return self.models

    def slab_of(self, times: np.ndarray) -> np.ndarray:
        """Return the number of the slab that each time belongs to, from 0."""
        return np.searchsorted(self.ends[1:-1], times, side="left")

    def predict(
        self, coordinates: Mapping[str, Any], quantities: tuple[str, ...] = ()
    ) -> dict[str, Tensor]:
        """Fields and partials at given points; see `Model.predict`."""
        domain = self.problem.domain
        columns = broadcast(domain.names, coordinates)
        outside = domain.describe_outside(np.stack([c.ravel() for c in columns], axis=1))
        if outside:
            warnings.warn(
                f"{outside}; there the network was not trained", OutsideDomainWarning, stacklevel=4
            )
        shape = columns[0].shape
        flat = {name: column.ravel() for name, column in zip(domain.names, columns, strict=True)}
        slabs = self.slab_of(flat[str(domain.time)])
        found: dict[str, Tensor] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OutsideDomainWarning)  # of a slab: told above
            for number in np.unique(slabs) if len(slabs) else [0]:
                own = slabs == number
                model = self.models[int(number)]
                parts = model.predict({k: v[own] for k, v in flat.items()}, quantities)  # type: ignore[operator]
                for name, values in parts.items():
                    whole = found.setdefault(name, values.new_zeros(len(slabs)))
                    whole[torch.as_tensor(own)] = values
        return {name: values.reshape(shape) for name, values in found.items()}

    def forward(self, points: Points) -> FieldValues:
        """Return the fields' values at points, shape (N, fields)."""
        column = self.problem.domain.names.index(str(self.problem.domain.time))
        slabs = torch.as_tensor(self.slab_of(points[:, column].detach().cpu().numpy()))
        found = points.new_zeros(len(points), len(self.problem.fields))
        for number in slabs.unique().tolist():
            own = (slabs == number).nonzero()[:, 0].to(points.device)
            found = found.index_copy(0, own, self.models[number](points[own]))
        return found
