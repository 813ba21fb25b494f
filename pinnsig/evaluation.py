"""A trained field on a regular grid, beside the reference solution, and its errors."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pinnsig.errors import ProblemError
from pinnsig.jets.fields import guarded
from pinnsig.model import Model
from pinnsig.problem import Problem

Array = NDArray[np.float64]

# points per coordinate, by number of coordinates; time gets about half of space's
POINTS = {1: 1001, 2: 201, 3: 41, 4: 17}


@dataclass(frozen=True)
class Comparison:
    """One field on a regular grid.

    Attributes:
        field: its name.
        axes: the grid's points along each coordinate, in the domain's order.
        prediction: shape (len(axis), ...) over all axes.
        reference: the solution there, same shape; None where the problem has none.
    """

    field: str
    axes: dict[str, Array]
    prediction: Array
    reference: Array | None

    @property
    def error(self) -> Array | None:
        """Absolute error, same shape."""
        return None if self.reference is None else np.abs(self.prediction - self.reference)

    @property
    def relative_l2(self) -> float | None:
        """|error| / |reference| in the 2-norm over the grid; the error's own where that is zero."""
        return relative_l2({self.field: self})

    @property
    def max_error(self) -> float | None:
        """Largest absolute error."""
        return None if self.error is None else float(self.error.max())


def evaluation_axes(problem: Problem) -> dict[str, Array]:
    """Regular grid axes over the domain, ends included."""
    points = POINTS.get(problem.domain.dimensions, 7)
    return {name: _axis(problem, name, points) for name in problem.domain.names}


def fine_axis(problem: Problem, name: str) -> Array:
    """Return points along one coordinate, as many as there are with two."""
    return _axis(problem, name, POINTS[2])


def _axis(problem: Problem, name: str, points: int) -> Array:
    count = (points + 1) // 2 if name == problem.domain.time else points
    return np.linspace(*problem.domain.interval(name), count)


def compare(model: Model, axes: Mapping[str, Array] | None = None) -> dict[str, Comparison]:
    """Every field of a model on a grid, beside the problem's solution if it has one.

    Raises:
        ProblemError: the solution has another shape than its points, or is not finite.
    """
    problem = model.problem
    axes = dict(axes or evaluation_axes(problem))
    mesh = np.meshgrid(*axes.values(), indexing="ij")
    columns = {
        name: torch.from_numpy(values.ravel()) for name, values in zip(axes, mesh, strict=True)
    }
    predicted = model.predict(columns)
    references = reference_values(problem, columns)
    shape = mesh[0].shape
    return {
        field: Comparison(
            field,
            axes,
            predicted[field].double().cpu().numpy().reshape(shape),
            None if references is None else references[field].numpy().reshape(shape),
        )
        for field in problem.fields
    }


def reference_values(problem: Problem, columns: Mapping[str, Tensor]) -> dict[str, Tensor] | None:
    """The problem's solution by field at float64 points of shape (N,); None without one.

    It is the solution at the true values of learned coefficients (`Coefficient(true=...)`): where
    it depends on one whose true value is not known, there is nothing to compare with.

    Raises:
        ProblemError: it has another shape than its points, or is not finite.
    """
    if not problem.has("solution"):
        return None
    known = problem.true_values().items()
    true = {name: math.nan if value is None else value for name, value in known}
    exact = problem.bound({n: torch.tensor(c, dtype=torch.float64) for n, c in true.items()})
    with torch.no_grad():
        found = guarded(problem, "solution", lambda: exact.call("solution", columns))
    if isinstance(found, tuple | list):
        found = dict(zip(problem.fields, found, strict=False))
    elif not isinstance(found, dict):
        found = dict.fromkeys(problem.fields[:1], found)
    unknown = any(math.isnan(value) for value in true.values())
    what = f"{type(problem).__name__}.solution"
    shape = next(iter(columns.values())).shape
    checked: dict[str, Tensor] = {}
    for field in problem.fields:
        values = found.get(field)
        if not isinstance(values, Tensor):
            raise ProblemError(
                f"{what} must give a tensor of shape (N,) for {field}, not {type(values).__name__}"
            )
        if values.shape != shape:
            raise ProblemError(
                f"{what} must give shape {tuple(shape)} for {field}, not {tuple(values.shape)}"
            )
        if unknown and values.isnan().any():
            return None
        if not (finite := values.isfinite()).all():
            bad = int(finite.logical_not().nonzero()[0])
            place = ", ".join(f"{name} = {float(c[bad]):g}" for name, c in columns.items())
            raise ProblemError(f"{what} must be finite: {field} is {float(values[bad])} at {place}")
        checked[field] = values.double().cpu()
    return checked


def has_reference(problem: Problem) -> bool:
    """Return whether there is a solution that errors can be measured against.

    Raises:
        ProblemError: see `reference_values`.
    """
    domain, inside = problem.domain, np.array([[0.25], [0.5], [0.75]])
    points = torch.from_numpy(domain.lower + inside * (domain.upper - domain.lower))
    return (
        reference_values(problem, dict(zip(domain.names, points.unbind(1), strict=True)))
        is not None
    )


def relative_l2(comparisons: Mapping[str, Comparison]) -> float | None:
    """|error| / |reference| in the 2-norm over the grid and all fields; None without reference.

    Where the reference is zero everywhere, the root mean square of the error.
    """
    size, off, points = 0.0, 0.0, 0
    for comparison in comparisons.values():
        if comparison.reference is None or comparison.error is None:
            return None
        size += float(np.sum(comparison.reference**2))
        off += float(np.sum(comparison.error**2))
        points += comparison.error.size
    return math.sqrt(off / (size or points or 1))


def max_error(comparisons: Mapping[str, Comparison]) -> float | None:
    """Largest absolute error over the grid and all fields; None without reference."""
    errors = [c.max_error for c in comparisons.values() if c.max_error is not None]
    return max(errors) if errors else None
