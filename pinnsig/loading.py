"""`load`: a finished run as a model that predicts fields and partials."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from pinnsig.building import build
from pinnsig.errors import ProblemError, RunError
from pinnsig.model import Model
from pinnsig.problem import Problem, problem_class, problem_entries, problem_file
from pinnsig.runs import RunDirectory
from pinnsig.settings import Settings, read_config, resolve

WEIGHTS = {"best": "model.safetensors", "last": "last.safetensors"}


@dataclass(frozen=True)
class TrainedModel:
    """A run's network with its problem, ready to predict.

    Attributes:
        model: the torch module, with the problem as `model.problem`.
        directory: where it came from.
        settings: the run's own, but for the device.
    """

    model: Model
    directory: RunDirectory
    settings: Settings

    def predict(
        self, of: str | Sequence[str] = (), **coordinates: ArrayLike
    ) -> dict[str, NDArray[np.float64]]:
        """Fields and partials at points.

        Args:
            of: quantities such as "u", "u.x" or ("u", "u.xt"); none means all fields.
            coordinates: a number or an array of shape (N,) for each coordinate; numbers are
                repeated to the common length.

        Returns:
            An array of shape (N,) for each quantity.

        Raises:
            ProblemError: coordinates missing, unknown, or of different lengths.
            DerivativeError: a quantity that names no field or partial.
        """
        columns = {name: np.asarray(value, np.float64) for name, value in coordinates.items()}
        try:
            shaped = np.broadcast_arrays(*(np.atleast_1d(column) for column in columns.values()))
        except ValueError:
            lengths = {name: column.shape for name, column in columns.items()}
            raise ProblemError(f"coordinates have different lengths: {lengths}") from None
        named = {n: torch.tensor(c) for n, c in zip(columns, shaped, strict=True)}
        found = self.model.predict(named, (of,) if isinstance(of, str) else tuple(of))
        return {name: values.double().cpu().numpy() for name, values in found.items()}


def load(
    run: str | Path,
    *,
    weights: str = "best",
    problem: type[Problem] | None = None,
    device: str = "cpu",
) -> TrainedModel:
    """Read a run back.

    A problem that came from a user's file is imported from the run's own copy of that file.

    Args:
        run: the run directory.
        weights: "best" (lowest loss) or "last".
        problem: the problem's class, where the run was started from Python with a class.
        device: where to predict.

    Raises:
        RunError: no run there, or weights missing, damaged or of another shape.
        PinnsigError: the problem or the device cannot be had.
    """
    if weights not in WEIGHTS:
        raise RunError(f"weights = {weights!r} cannot be: choose best or last")
    directory = RunDirectory.open(run)
    if "dataset" in directory.read_json("config.json"):
        raise RunError(f"{directory.path} is a run of classify: it has no fields to predict")
    settings = resolve({**read_config(directory.path / "config.json"), "device": device})
    model = build(settings, problem or problem_of(directory, settings.problem)).model
    state: dict[str, Any] = directory.load_weights(WEIGHTS[weights])
    precisions = {tensor.dtype for tensor in state.values()}
    try:
        if len(precisions) == 1:  # the last phase's, which need not be the first one's
            model.to(*precisions)
        model.load_state_dict(state)
    except RuntimeError:
        raise RunError(f"the weights in {directory.path} do not fit its config.json") from None
    return TrainedModel(model, directory, settings)


def problem_of(directory: RunDirectory, name: str) -> type[Problem]:
    """The class that a run was solved with: the run's own copy of a user's file, else by name.

    Raises:
        ProblemError: it is a class that is not registered.
    """
    file = problem_file(name)
    if file is None:
        if name not in problem_entries():
            raise ProblemError(
                f"{directory.path} solved a class {name!r} that is not registered: "
                f"give it to load(run, problem={name})"
            )
        return problem_class(name)
    copy = str(directory.path / "problem.py")
    return problem_class(f"{copy}:{file.chosen}" if file.chosen else copy)
