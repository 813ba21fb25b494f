"""Confidence intervals of what is learned, from the noise of the data."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import t as student
from torch import Tensor

from pinnsig.core.types import ColumnArray
from pinnsig.derivatives import Plan
from pinnsig.derivatives.taylor import make_tape
from pinnsig.model import Model
from pinnsig.model.evaluation import Comparison, compare_functions
from pinnsig.model.fields import rescaled
from pinnsig.networks import FFNN, SideBySide
from pinnsig.objective import Objective
from pinnsig.run.judging.covariance import Curvature, Noise, UnknownError, curvature
from pinnsig.run.judging.profiles import Profile, profile

CONFIDENCE = 0.95
AT_ONCE = 500  # points of a function

Band = tuple[NDArray[np.float64], NDArray[np.float64]]
"""The lower and the upper end at each point, in the shape of the grid."""


@dataclass(frozen=True)
class Uncertainty:
    """What noise in the data leaves unknown; nothing but `reason` where that cannot be told.

    Attributes:
        reason: why it cannot be told; None where it can.
        standard_errors: of the coefficients, to first order.
        intervals: of the coefficients, at 95 %; they stay inside their limits.
        correlation: of the coefficients, by two names.
        bands: pointwise intervals of unknown functions, on the grid of `compare_functions`.
        profiles: the loss around each coefficient's value.
        noise: of the data.
    """

    reason: str | None = None
    standard_errors: dict[str, float] = field(default_factory=dict)
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    correlation: dict[str, dict[str, float]] = field(default_factory=dict)
    bands: dict[str, Band] = field(default_factory=dict)
    profiles: dict[str, Profile] = field(default_factory=dict)
    noise: Noise | None = None

    def as_dict(self) -> dict[str, Any]:
        """What `result.json` holds of it besides the coefficients' own."""
        noise = self.noise
        return {
            "confidence": CONFIDENCE,
            "reason": self.reason,
            "noise": None if noise is None else noise.levels,
            "noise_given": None if noise is None else noise.given,
            "degrees_of_freedom": None if noise is None else noise.degrees,
        }


def noise_uncertainty(objective: Objective, profiles: bool = True) -> Uncertainty:
    """Return what the noise of the data leaves unknown of coefficients and functions.

    Args:
        objective: the loss, in float64, at parameters that minimise it, which stay as they are.
        profiles: whether to minimise around each value, too, as a figure shows it.
    """
    model = objective.model
    learned = list(model.start)
    try:
        found = curvature(objective)
        noise = found.noise()
    except UnknownError as error:
        return Uncertainty(str(error))
    reach = float(student.ppf(0.5 + CONFIDENCE / 2, noise.degrees)) if not noise.given else 1.96
    parameters = len(objective.flat)
    first = parameters - len(learned)
    slopes = objective.flat.values.new_zeros(parameters, len(learned))
    slopes[first:] = torch.eye(len(learned)).to(slopes)
    matrix = found.covariance(slopes, noise)
    sizes = matrix.diagonal().sqrt()
    errors, intervals = {}, {}
    for i, name in enumerate(learned):
        theta, bijection = model.unknowns[name].detach(), model.bijections[name]
        ends = [float(bijection.value(theta + way * reach * sizes[i])) for way in (-1, 1)]
        intervals[name] = ends[0], ends[1]
        errors[name] = float(sizes[i]) * _slope(model, name)
    related = matrix / (sizes.unsqueeze(1) * sizes)
    correlation = {
        one: {other: float(related[i, j]) for j, other in enumerate(learned)}
        for i, one in enumerate(learned)
    }
    bands = _bands(objective, found, noise, reach)
    spans = {name: reach * float(size) for name, size in zip(learned, sizes, strict=True)}
    around = learned if profiles else []
    drawn = {name: profile(objective, found, name, spans[name]) for name in around}
    return Uncertainty(None, errors, intervals, correlation, bands, drawn, noise)


def _slope(model: Model, name: str) -> float:
    """d value / d parameter of a coefficient."""
    theta = model.unknowns[name].detach().clone().requires_grad_()
    with torch.enable_grad():
        (slope,) = torch.autograd.grad(model.bijections[name].value(theta), theta)
    return float(slope)


def _bands(objective: Objective, found: Curvature, noise: Noise, reach: float) -> dict[str, Band]:
    model, network = objective.model, objective.model.network
    if not isinstance(network, SideBySide):
        return {}
    place = sum(weight.numel() for weight in network.main.parameters())
    bands = {}
    comparisons = compare_functions(model)
    known = model.problem.functions()
    for own, (name, function) in zip(network.functions, known.items(), strict=True):
        assert isinstance(own, FFNN)
        count = sum(weight.numel() for weight in own.parameters())
        raw, sizes = [], []
        for inputs in _inputs(model, comparisons[name]):
            values, rows = _raw_rows(own, inputs)
            slopes = rows.new_zeros(len(objective.flat), len(rows))
            slopes[place : place + count] = rows.T
            moved = noise.rows.unsqueeze(1) * (found.rows @ found.solve(slopes))
            raw.append(values)
            sizes.append(moved.norm(dim=0))
        place += count
        middle, size = torch.cat(raw), torch.cat(sizes)
        raws = (middle + way * reach * size for way in (-1, 1))
        ends = [function.value(rescaled(model.problem, name, raw)) for raw in raws]
        shape = comparisons[name].prediction.shape
        low, high = (end.double().cpu().numpy().reshape(shape) for end in ends)
        bands[name] = low, high
    return bands


def _inputs(model: Model, comparison: Comparison) -> Iterator[Tensor]:
    """The inputs of a function's network at its grid, scaled, some points at a time."""
    axes, domain = comparison.axes, model.problem.domain
    mesh = [*axes.values()] if comparison.scattered else np.meshgrid(*axes.values(), indexing="ij")
    columns: list[ColumnArray] = []
    for name, values in zip(axes, mesh, strict=True):
        low, high = domain.interval(name)
        columns.append((values.ravel() - 0.5 * (low + high)) * (2 / (high - low)))
    inputs = torch.from_numpy(np.stack(columns, axis=1)).to(next(model.network.parameters()))
    return iter(inputs.split(AT_ONCE))


@torch.no_grad()
def _raw_rows(network: FFNN, inputs: Tensor) -> tuple[Tensor, Tensor]:
    """The outputs of a network at points, shape (M,), and their derivatives in its weights."""
    names = tuple(str(i) for i in range(inputs.shape[1]))
    weights = [weight.detach() for weight in network.weights]
    plan = Plan.closing(names, [])
    tape = make_tape(network.activation, plan, inputs.unsqueeze(0).contiguous(), weights)
    table = tape.forward().clone()
    rows = table.new_zeros(len(inputs), sum(weight.numel() for weight in weights))
    tape.write_rows(torch.ones_like(table), 1, rows)
    return table[0, :, 0], rows


def describe_functions(
    comparisons: Mapping[str, Comparison], uncertainty: Uncertainty | None
) -> dict[str, dict[str, Any]]:
    """Return what the result says of unknown functions' intervals, by name."""
    bands = {} if uncertainty is None else uncertainty.bands
    found = {}
    for name, comparison in comparisons.items():
        band = bands.get(name)
        true = comparison.reference
        inside = None
        if band is not None and true is not None:
            inside = float(np.mean((band[0] <= true) & (true <= band[1])))
        found[name] = {
            "half_width": None if band is None else float(np.mean(band[1] - band[0]) / 2),
            "covered": inside,
        }
    return found
