"""A trained field at many points, beside the reference solution, and its errors."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import qmc
from torch import Tensor

from pinnsig.core.errors import ProblemError
from pinnsig.core.types import AxisArray, Column, ColumnArray, GridArray, UnitArray
from pinnsig.model.fields import guarded
from pinnsig.model.model import Model
from pinnsig.model.slabs import SlabModel
from pinnsig.problem import Problem
from pinnsig.problem.condition import real_tensor

# points per coordinate, by number of coordinates; time gets about half of space's
POINTS = {1: 1001, 2: 201, 3: 41, 4: 17}
SCATTERED = 2**14  # points where a regular grid would be too coarse or too large
SOBOL_DIMENSIONS = 21_201  # that direction numbers are known for


@dataclass(frozen=True)
class Comparison:
    """One field on a regular grid, or at scattered points where there are many coordinates.

    Outside a domain that is no box, a grid holds NaN.

    Attributes:
        field: its name.
        axes: the grid's points along each coordinate, in the domain's order; of scattered points,
            their coordinates.
        prediction: at every point, a dimension for each of the grid's axes.
        reference: the solution there; None where the problem has none of this field.
        scattered: whether the points are scattered.
        outside: of a grid, which points lie outside the domain, as they may where that is no box;
            None means that none does.
    """

    field: str
    axes: dict[str, AxisArray]
    prediction: GridArray
    reference: GridArray | None
    scattered: bool = False
    outside: NDArray[np.bool_] | None = None

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Which points count, of the grid's shape."""
        if self.outside is None:
            return np.ones(self.prediction.shape, dtype=bool)
        return ~self.outside

    @property
    def error(self) -> GridArray | None:
        """Absolute error."""
        return None if self.reference is None else np.abs(self.prediction - self.reference)

    @property
    def relative_l2(self) -> float | None:
        """|error| / |reference| in the 2-norm over the grid; the error's own where that is zero."""
        return relative_l2({self.field: self})

    @property
    def max_error(self) -> float | None:
        """Largest absolute error."""
        return (
            None
            if self.error is None
            else float(np.max(self.error, where=self.inside, initial=0.0))
        )


def evaluation_axes(problem: Problem) -> dict[str, AxisArray]:
    """Return regular grid axes over a domain of few coordinates, ends included."""
    points = POINTS[problem.domain.dimensions]
    return {name: _axis(problem, name, points) for name in problem.domain.names}


def scattered_points(problem: Problem) -> dict[str, ColumnArray]:
    """Return points that fill the domain evenly, by coordinate; always the same.

    Source: scrambled Sobol points (Owen 1998), or uniform ones in more dimensions than those have.
    """
    generator = np.random.default_rng(0)
    dimensions = problem.domain.dimensions
    # `seed` is called `rng` since scipy 1.15, which still takes the old name
    few = dimensions <= SOBOL_DIMENSIONS
    sequence = qmc.Sobol(dimensions, seed=0) if few else None  # pyright: ignore[reportCallIssue]

    def draw(count: int, dimensions: int) -> UnitArray:
        if sequence is None:
            return generator.random((count, dimensions))
        return sequence.random(count)

    points = problem.domain.sample(SCATTERED, draw)
    return dict(zip(problem.domain.names, points.T, strict=True))


def fine_axis(problem: Problem, name: str) -> AxisArray:
    """Return points along one coordinate, as many as there are with two."""
    return _axis(problem, name, POINTS[2])


def _axis(problem: Problem, name: str, points: int) -> AxisArray:
    count = (points + 1) // 2 if name == problem.domain.time else points
    return np.linspace(*problem.domain.interval(name), count)


def compare(
    model: Model | SlabModel, axes: Mapping[str, AxisArray] | None = None
) -> dict[str, Comparison]:
    """Return every field of a model beside the problem's solution, if it has one.

    Args:
        model: whose fields.
        axes: of a regular grid; by default one over the whole domain, and scattered points where
            it has more coordinates than `POINTS` knows.

    Raises:
        ProblemError: the solution has another shape than its points, or is not finite.
    """
    problem = model.problem
    scattered = axes is None and problem.domain.dimensions not in POINTS
    axes = dict(axes or (scattered_points(problem) if scattered else evaluation_axes(problem)))
    mesh = list(axes.values()) if scattered else np.meshgrid(*axes.values(), indexing="ij")
    shape, places = mesh[0].shape, np.stack([values.ravel() for values in mesh], axis=1)
    inside = problem.domain.contains(places)
    columns = dict(zip(axes, torch.from_numpy(places[inside]).unbind(1), strict=True))
    predicted = model.predict(columns)
    references = reference_values(problem, columns) if inside.any() else {}

    def everywhere(values: Column) -> GridArray:
        whole = np.full(shape, np.nan)
        whole[inside.reshape(shape)] = values.double().cpu().numpy()
        return whole

    return {
        field: Comparison(
            field,
            axes,
            everywhere(predicted[field]),
            everywhere(references[field]) if field in references else None,
            scattered,
            None if inside.all() else ~inside.reshape(shape),
        )
        for field in problem.fields
    }


def compare_functions(model: Model) -> dict[str, Comparison]:
    """Return every unknown function of a model beside its true values, where they are known.

    Each is on a regular grid over its own coordinates, or at scattered points where those are many.

    Raises:
        ProblemError: a true function fails, or has another shape than its points.
    """
    problem, found = model.problem, {}
    for name, function in problem.functions().items():
        scattered = len(function.of) not in POINTS
        if scattered:
            axes = {key: scattered_points(problem)[key] for key in function.of}
        else:
            points = POINTS[max(len(function.of), 2)]
            axes = {key: _axis(problem, key, points) for key in function.of}
        mesh = list(axes.values()) if scattered else np.meshgrid(*axes.values(), indexing="ij")
        columns = {
            key: torch.from_numpy(values.ravel()) for key, values in zip(axes, mesh, strict=True)
        }
        values = model.predict(columns, (name,))[name].double().cpu().numpy()
        true = true_function(problem, name, columns)
        shape = mesh[0].shape
        found[name] = Comparison(
            name,
            axes,
            values.reshape(shape),
            None if true is None else true.numpy().reshape(shape),
            scattered,
        )
    return found


def true_function(problem: Problem, name: str, columns: Mapping[str, Column]) -> Column | None:
    """Return the true values of an unknown function at float64 points, if they are known.

    Raises:
        ProblemError: see `Function.true_values`.
    """
    exact = at_true_values(problem)
    with torch.no_grad():
        return guarded(
            problem,
            f"the true {name}",
            lambda: problem.functions()[name].true_values(exact, columns),
        )


def at_true_values(problem: Problem) -> Problem:
    """Return the problem with its learned coefficients' true values, NaN where not known."""
    known = problem.true_values().items()
    true = {name: math.nan if value is None else value for name, value in known}
    return problem.bound({n: torch.tensor(c, dtype=torch.float64) for n, c in true.items()})


def reference_values(problem: Problem, columns: Mapping[str, Column]) -> dict[str, Column]:
    """Return the problem's solution at float64 points, by the fields that have one.

    `solution` may give some fields only, in a dict, or None in the place of others. It is the
    solution at the true values of learned coefficients (`Coefficient(true=...)`): where a field
    depends on one whose true value is not known, there is nothing to compare it with.

    Raises:
        ProblemError: it has another shape than its points, or is not finite.
    """
    if not problem.has("solution"):
        return {}
    exact = at_true_values(problem)
    own = {name: column.clone() for name, column in columns.items()}
    with torch.no_grad():
        found = guarded(problem, "solution", lambda: exact.call("solution", own))
    unknown = any(value is None for value in problem.true_values().values())
    what = f"{type(problem).__name__}.solution"
    shape = next(iter(columns.values())).shape
    checked: dict[str, Column] = {}
    for field, values in _by_field(found, problem.fields, what).items():
        if not isinstance(values, Tensor) or values.is_complex():
            kind = values.dtype if isinstance(values, Tensor) else type(values).__name__
            raise ProblemError(
                f"{what} must give a real tensor of shape (N,) for {field}, not {kind}"
            )
        if values.shape != shape:
            raise ProblemError(
                f"{what} must give shape {tuple(shape)} for {field}, not {tuple(values.shape)}"
            )
        real_tensor(values, f"{what}: {field}")
        if unknown and values.isnan().any():
            continue
        if not (finite := values.isfinite()).all():
            bad = int(finite.logical_not().nonzero()[0])
            place = ", ".join(f"{name} = {float(c[bad]):g}" for name, c in columns.items())
            raise ProblemError(f"{what} must be finite: {field} is {float(values[bad])} at {place}")
        checked[field] = values.double().cpu()
    return checked


def _by_field(found: Any, fields: tuple[str, ...], what: str) -> dict[str, Any]:
    """What a solution gave, by field, without those that it leaves out."""
    if isinstance(found, Mapping):
        unknown = next((key for key in found if key not in fields), None)
        if unknown is not None:
            raise ProblemError(
                f"{what} gives {unknown!r}, which is no field: they are {', '.join(fields)}"
            )
        named = dict(found)
    else:
        several = found if isinstance(found, tuple | list) else [found]
        if len(several) != len(fields):
            raise ProblemError(
                f"{what} gives {len(several)} of {len(fields)} fields: return a dict, such as "
                f"{{{fields[0]!r}: ...}}, for some of them"
            )
        named = dict(zip(fields, several, strict=True))
        if len(fields) == 1 and found is None:
            raise ProblemError(f"{what} must give a tensor of shape (N,), not None")
    return {field: named[field] for field in fields if named.get(field) is not None}


def has_reference(problem: Problem) -> bool:
    """Return whether there is a solution that errors can be measured against.

    Raises:
        ProblemError: see `reference_values`.
    """
    domain, generator = problem.domain, np.random.default_rng(0)
    points = torch.from_numpy(domain.sample(3, lambda *shape: generator.random(shape)))
    return bool(reference_values(problem, dict(zip(domain.names, points.unbind(1), strict=True))))


def relative_l2(comparisons: Mapping[str, Comparison]) -> float | None:
    """|error| / |reference| in the 2-norm over the grid and all fields that have a reference.

    None where none has one. Where the reference is zero everywhere, the root mean square of the
    error.
    """
    size, off, points = 0.0, 0.0, 0
    for comparison in comparisons.values():
        if comparison.reference is None or comparison.error is None:
            continue
        # a grid's points outside the domain do not count
        size += float(np.sum(comparison.reference**2, where=comparison.inside))
        off += float(np.sum(comparison.error**2, where=comparison.inside))
        points += int(comparison.inside.sum())
    return math.sqrt(off / (size or points)) if points else None


def max_error(comparisons: Mapping[str, Comparison]) -> float | None:
    """Largest absolute error over the grid and all fields that have a reference; None without."""
    errors = [c.max_error for c in comparisons.values() if c.max_error is not None]
    return max(errors) if errors else None
