"""`TrainedModel`: a run's network with its problem, which predicts and is exported."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from pinnsig.core.errors import ProblemError
from pinnsig.core.gradients import own_gradients
from pinnsig.model import Model, SlabModel
from pinnsig.run.directory import RunDirectory
from pinnsig.run.export import Source, about_run, write_export
from pinnsig.run.point_tables import is_file, is_frame, read_points
from pinnsig.run.settings import Settings

if TYPE_CHECKING:
    from pandas import DataFrame

Quantities = str | Sequence[str]
"""Such as "u", "u.x" or ("u", "u.xt")."""


@dataclass(frozen=True)
class TrainedModel:
    """A run's network with its problem, ready to predict.

    Attributes:
        model: the torch module, with the problem as `model.problem`.
        directory: where it came from.
        settings: the run's own, but for the device.
        notices: what a user should know, a line each: files that have changed since.
    """

    model: Model | SlabModel
    directory: RunDirectory
    settings: Settings
    notices: tuple[str, ...] = ()

    @overload
    def predict(self, points: "DataFrame", /, *, of: Quantities = ()) -> "DataFrame": ...
    @overload
    def predict(
        self, points: os.PathLike[str], /, *, of: Quantities = ()
    ) -> dict[str, NDArray[np.float64]]: ...
    @overload
    def predict(self, of: Quantities = (), **coordinates: Tensor) -> dict[str, Tensor]: ...
    @overload
    def predict(
        self, of: Quantities = (), **coordinates: ArrayLike
    ) -> dict[str, NDArray[np.float64]]: ...
    @own_gradients()
    def predict(self, *given: Any, of: Quantities = (), **coordinates: Any) -> Any:
        """Fields and partials at points.

        Args:
            given: a table of points, or the quantities. A table is a pandas DataFrame, or the path
                of a CSV or Parquet file, with a column for each coordinate; others may stand
                beside them.
            of: quantities such as "u", "u.x" or ("u", "u.xt"); none means all fields.
            coordinates: in the place of a table, for each coordinate a number, an array or a
                tensor, of shapes that broadcast, as those of `numpy.meshgrid` do; a number has
                shape (1,).

        Returns:
            For each quantity a float64 array of the shape that they broadcast to. Where a tensor is
            given, tensors of its floating type on its device, outside autograd. Of a DataFrame, one
            with the quantities alone and its index, to be joined with it. Of a file, an array for
            each coordinate and each quantity.

        Raises:
            ProblemError: coordinates missing, unknown, not finite, or of shapes that do not fit.
            DerivativeError: a quantity that names no field or partial.
            RunError: a table that lacks a coordinate, or holds something else than numbers.
        """
        table, of = _told_apart(given, of)
        wanted = (of,) if isinstance(of, str) else tuple(of)
        if table is None:
            found = self.model.predict(coordinates, wanted)
            like = next((c for c in coordinates.values() if isinstance(c, Tensor)), None)
            return _numpy(found) if like is None else _as_tensors(found, like)
        if coordinates:
            raise ProblemError("points are given both in a table and by name: give one of them")
        points = read_points(table, self.model.problem.domain.names)
        predicted = _numpy(self.model.predict(points, wanted))
        if is_frame(table):
            return type(table)(predicted, index=table.index)
        return {**points, **predicted}

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        to: str | None = None,
        of: Quantities = (),
        grid: Mapping[str, ArrayLike] | None = None,
        points: Any = None,
    ) -> list[Path]:
        """Write fields at points, or the model itself, in a format of other programs.

        Args:
            path: the file, which is replaced if it is there.
            to: the format, a name of `pinnsig.run.export.FORMATS`; None goes by the file's name.
            of: quantities such as "u" or ("u", "u.x"); none means all fields and unknown functions.
            grid: values of coordinates, whose combinations are the points; one that is left out has
                values all over the domain.
            points: a table of points, as `predict` takes.

        Returns:
            The files that were written, the one to open first.

        Raises:
            ExportError: a format, points or quantities that do not go together; a model that cannot
                be exported; a package that is not installed; a file that cannot be written.
            PinnsigError: points or quantities that `predict` refuses.
        """
        wanted = (of,) if isinstance(of, str) else tuple(of)
        source = Source(self.model, about_run(self.model, self.directory), wanted, grid, points)
        return write_export(source, path, to)


def _told_apart(given: tuple[Any, ...], of: Quantities) -> tuple[Any, Quantities]:
    """A table of points and quantities, from arguments without a name and the named one."""
    if len(given) > 1:
        raise ProblemError("predict takes one argument without a name: write x=..., of=...")
    if not given:
        return None, of
    if is_frame(given[0]) or is_file(given[0]):
        return given[0], of
    if of:
        raise ProblemError("quantities are given twice: the second time as `of`")
    return None, given[0]


def _numpy(found: Mapping[str, Tensor]) -> dict[str, NDArray[np.float64]]:
    return {name: values.double().cpu().numpy() for name, values in found.items()}


def _as_tensors(found: Mapping[str, Tensor], like: Tensor) -> dict[str, Tensor]:
    dtype = like.dtype if like.is_floating_point() else torch.get_default_dtype()
    return {name: values.to(like.device, dtype) for name, values in found.items()}
