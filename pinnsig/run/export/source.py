"""What is exported: a model, what a reader should know of it, and where its fields are wanted."""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from pinnsig.core.errors import ExportError, NoReferenceWarning, ProblemError, RunError
from pinnsig.core.memory import require
from pinnsig.core.names import parse_quantity
from pinnsig.core.registry import suggestion
from pinnsig.core.types import AxisArray, Column, ColumnArray
from pinnsig.core.version import __version__
from pinnsig.geometry import Box
from pinnsig.model import Model, SlabModel
from pinnsig.model.evaluation import POINTS, evaluation_axes, reference_values, scattered_points
from pinnsig.problem import Problem
from pinnsig.problem.tables import numbers
from pinnsig.run.directory import RunDirectory
from pinnsig.run.export.sample import Sample
from pinnsig.run.point_tables import read_points

REFERENCE = "_reference"
"""What the names of reference values end with."""


@dataclass(frozen=True)
class Source:
    """A model to be exported.

    Attributes:
        model: whose fields.
        about: what a reader should know, by name: texts and numbers.
        of: quantities; none means all fields and unknown functions.
        grid: values of coordinates, whose combinations are the points.
        points: a table of them.
    """

    model: Model | SlabModel
    about: Mapping[str, str | float]
    of: tuple[str, ...] = ()
    grid: Mapping[str, ArrayLike] | None = None
    points: Any = None

    @property
    def problem(self) -> Problem:
        """The model's."""
        return self.model.problem

    @property
    def quantities(self) -> tuple[str, ...]:
        """What is asked for.

        Raises:
            DerivativeError: one of them is no field, function or partial.
        """
        problem = self.problem
        known = (*problem.fields, *problem.functions())
        for quantity in self.of:
            parse_quantity(quantity, known, problem.domain.names)
        return tuple(dict.fromkeys(self.of)) or known

    def refuse_points(self) -> None:
        """Refuse points where the model itself is exported.

        Raises:
            ExportError: there are some.
        """
        if self.grid or self.points is not None:
            raise ExportError("a model is exported as it is: a grid or points belong to fields")

    def sample(self) -> Sample:
        """Return the quantities, and the problem's solution, at the points.

        Raises:
            ExportError: a grid that cannot be, or of which no point lies in the domain.
            PinnsigError: points or quantities that cannot be.
        """
        problem, quantities = self.problem, self.quantities
        names = problem.domain.names
        if self.points is not None:
            if self.grid:
                raise ExportError("points are given both as a grid and as a table: give one")
            axes, columns = None, read_points(self.points, names)
        elif not self.grid and problem.domain.dimensions not in POINTS:
            axes, columns = None, scattered_points(problem)
        else:
            axes = _axes(problem, self.grid or {})
            count = math.prod(map(len, axes.values()))
            size = 8 * count * (len(names) + 2 * len(quantities))
            require(size, f"{count:,} points", "take fewer", error=ExportError)
            mesh = np.meshgrid(*axes.values(), indexing="ij")
            columns = {name: c.ravel() for name, c in zip(names, mesh, strict=True)}
        # what is a shape has holes in its grid; of a box, all is answered, with a warning outside
        answered = contained = problem.domain.contains(np.stack(list(columns.values()), axis=1))
        if axes is None or isinstance(problem.domain, Box):
            answered = np.ones_like(contained)
        if not answered.any():
            raise ExportError("no point of the grid lies in the domain")
        predicted = self.model.predict(_at(columns, answered), quantities)
        values = {q: _whole(v.double().cpu().numpy(), answered) for q, v in predicted.items()}
        if contained.any():
            for name, exact in _references(problem, _at(columns, contained)).items():
                if name in quantities:
                    values[name + REFERENCE] = _whole(exact.numpy(), contained)
        return Sample(columns, values, axes, None if answered.all() else answered)


def about_run(model: Model | SlabModel, directory: RunDirectory) -> dict[str, str | float]:
    """Return what a reader of an export should know of its run: texts and numbers by name."""
    try:
        result = directory.read_json("result.json")
    except RunError:  # interrupted, or not finished
        result = {}
    problem = model.problem
    found: dict[str, str | float] = {
        "problem": type(problem).__name__,
        "run": directory.path.absolute().name,
        "pinnsig": __version__,
    }
    for name in ("relative_l2", "estimated_error"):
        if isinstance(result.get(name), float):
            found[name] = result[name]
    learned = model.coefficient_values() if isinstance(model, Model) else {}
    return found | {f"coefficient {name}": value for name, value in learned.items()}


def _references(problem: Problem, columns: dict[str, ColumnArray]) -> dict[str, Column]:
    """The problem's solution by field; none, with a warning, where it fails."""
    try:
        return reference_values(problem, {n: torch.from_numpy(c) for n, c in columns.items()})
    except ProblemError as error:
        warnings.warn(f"no reference values: {error}", NoReferenceWarning, stacklevel=2)
        return {}


def _axes(problem: Problem, given: Mapping[str, ArrayLike]) -> dict[str, AxisArray]:
    """The values of every coordinate, ascending; those of the whole domain where none are given."""
    names = problem.domain.names
    for name in given:
        if name not in names:
            raise ExportError(f"grid: {name!r} is no coordinate: {suggestion(name, names)}")
    missing = [name for name in names if name not in given]
    if missing and len(names) not in POINTS:
        raise ExportError(
            f"grid: there is no value of {missing[0]}; with {len(names)} coordinates, give all"
        )
    usual = evaluation_axes(problem) if missing else {}
    return {n: _axis(n, given[n]) if n in given else usual[n] for n in names}


def _axis(name: str, given: ArrayLike) -> AxisArray:
    values = numbers(name, given, "grid")
    if values.ndim != 1 or not len(values):
        raise ExportError(f"grid: {name} has no value: write such as {name}=0:1:11")
    if not np.isfinite(values).all():
        raise ExportError(f"grid: {name} holds a value that is not finite")
    if (np.diff(values) <= 0).any():
        raise ExportError(f"grid: the values of {name} must ascend")
    return values


def _at(columns: Mapping[str, ColumnArray], rows: NDArray[np.bool_]) -> dict[str, ColumnArray]:
    return {name: column[rows] for name, column in columns.items()}


def _whole(values: ColumnArray, rows: NDArray[np.bool_]) -> ColumnArray:
    """Values at all points, NaN where there are none."""
    found = np.full(len(rows), np.nan)
    found[rows] = values
    return found
