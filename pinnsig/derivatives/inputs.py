"""The network's inputs: coordinates or features of them, and their partials."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor

from pinnsig.core.types import Column, Inputs, InputTable, Points
from pinnsig.derivatives.jet import Jet, Part
from pinnsig.derivatives.plan import Alpha, Plan

Features = Callable[[Mapping[str, Any]], Sequence[Any]]
"""Maps coordinates by name, tensors or jets, to the network's inputs, each a column."""


def coordinate_jets(coordinates: tuple[str, ...], points: Points) -> dict[str, Jet]:
    """Return the coordinates at points as jets.

    Each is a copy, made when it is read: what a problem's code does to it leaves the points alone.
    """
    return _jets_of(coordinates, points.unbind(1), Tensor.clone)


def column_jets(coordinates: tuple[str, ...], columns: Sequence[Column]) -> dict[str, Jet]:
    """The same from a column for each, not copied."""
    return _jets_of(coordinates, columns, lambda column: column)


def _jets_of(
    coordinates: tuple[str, ...], columns: Sequence[Tensor], read: Callable[[Tensor], Tensor]
) -> dict[str, Jet]:
    jets: dict[str, Jet] = {}
    for axis, (name, values) in enumerate(zip(coordinates, columns, strict=True)):

        def part(alpha: Alpha, axis: int = axis, values: Tensor = values) -> Part:
            if not any(alpha):
                return read(values)
            return 1.0 if sum(alpha) == 1 and alpha[axis] == 1 else None

        jets[name] = Jet(coordinates, part, values)
    return jets


class ScaledCoordinates:
    """Features that are coordinates, each shifted and multiplied.

    Their partials are known beforehand: of what jets would work out one by one, K for each of them,
    only the values and first ones are not zero.

    Args:
        maps: (values - middle) * factor, middle and factor by coordinate.
    """

    def __init__(self, maps: Mapping[str, tuple[float, float]]) -> None:
        self.maps = maps

    def __call__(self, coordinates: Mapping[str, Any]) -> list[Any]:
        """Return the inputs, each a column."""
        return [(coordinates[name] - middle) * f for name, (middle, f) in self.maps.items()]

    def partials(self, points: Points, plan: Plan) -> InputTable:
        """Return the same as `stack_partials` of the inputs' jets."""
        columns = [plan.coordinates.index(name) for name in self.maps]
        stack = points.new_zeros(len(plan), points.shape[0], len(columns))
        firsts = {alpha.index(1): k for k, alpha in enumerate(plan.alphas) if sum(alpha) == 1}
        places = [(firsts[column], j) for j, column in enumerate(columns) if column in firsts]
        maps = list(self.maps.values())
        if points.device.type == "cpu":
            middles, factors = (points.new_tensor(numbers) for numbers in zip(*maps, strict=True))
            stack[0] = (points[:, columns] - middles) * factors
            if places:
                rows, inputs = map(list, zip(*places, strict=True))
                stack[rows, :, inputs] = factors[inputs, None]
            return stack
        # numbers one by one: a graph that is recorded on a GPU takes no tensors from the host
        for j, (column, (middle, factor)) in enumerate(zip(columns, maps, strict=True)):
            stack[0, :, j] = (points[:, column] - middle) * factor
        for k, j in places:
            stack[k, :, j] = maps[j][1]
        return stack


def stack_partials(jets: Sequence[Jet], plan: Plan) -> InputTable:
    """Return the plan's partials of several jets, such as a network's inputs."""
    like = jets[0].like
    stack = like.new_zeros(len(plan), like.shape[0], len(jets))  # `len` would fix a traced size
    for j, jet in enumerate(jets):
        for k, alpha in enumerate(plan.alphas):
            part = jet.part(alpha)
            if part is not None:
                stack[k, :, j] = cast(Tensor | float, part)
    return stack


def input_partials(features: Features | None, points: Points, plan: Plan) -> InputTable:
    """Return the partials of the network's inputs at points."""
    if features is None:
        features = ScaledCoordinates(dict.fromkeys(plan.coordinates, (0.0, 1.0)))
    if isinstance(features, ScaledCoordinates):
        return features.partials(points, plan)
    return stack_partials(list(features(coordinate_jets(plan.coordinates, points))), plan)


def stack_inputs(columns: Sequence[Column]) -> Inputs:
    """Return columns as one matrix."""
    return torch.stack(list(columns), dim=1)
