"""`load`: a finished run as a model that predicts fields and partials."""

from pathlib import Path
from typing import Any

from pinnsig.core.errors import RunError
from pinnsig.core.gradients import own_gradients
from pinnsig.core.trust import Trust
from pinnsig.problem import Problem
from pinnsig.run.building import build
from pinnsig.run.directory import WEIGHTS, RunDirectory
from pinnsig.run.networks import Own
from pinnsig.run.settings import read_config, resolve
from pinnsig.run.slab_models import load_slabs
from pinnsig.run.source import problem_of
from pinnsig.run.trained import TrainedModel

__all__ = ["TrainedModel", "load"]


@own_gradients()
def load(
    run: str | Path,
    *,
    weights: str = "best",
    problem: type[Problem] | None = None,
    network: Own | None = None,
    device: str = "cpu",
    trust: Trust = False,
) -> TrainedModel:
    """Read a run back.

    A problem that came from a user's file is imported from the run's own copy of that file, if the
    run was made by this user on this machine, or if the user trusts it.

    Args:
        run: the run directory.
        weights: "best" (lowest loss) or "last".
        problem: the problem's class, where the run was started from Python with a class.
        network: the run's own network, or what makes it, where it is not a registered one.
        device: where to predict.
        trust: whether code that came with the run may be run; this is remembered.

    Raises:
        TrustError: the run holds code that is not trusted.
        RunError: no run there, or weights missing, damaged or of another shape.
        PinnsigError: the problem or the device cannot be had.
    """
    if weights not in WEIGHTS:
        raise RunError(f"weights = {weights!r} cannot be: choose best or last")
    directory = RunDirectory.open(run)
    if directory.is_classifier():
        raise RunError(f"{directory.path} is a run of classify: it has no fields to predict")
    settings = resolve({**read_config(directory.path / "config.json"), "device": device})
    own = problem_of(directory, settings.problem, trust, problem)
    if settings.slabs != 1:
        joint = load_slabs(settings, own.problem_type, network, directory, weights)
        return TrainedModel(joint, directory, settings, own.notices)
    model = build(settings, own.problem_type, network).model
    state: dict[str, Any] = directory.load_weights(WEIGHTS[weights])
    precisions = {tensor.dtype for tensor in state.values()}
    try:
        if len(precisions) == 1:  # the last phase's, which need not be the first one's
            model.to(*precisions)
        model.load_state_dict(state)
    except RuntimeError:
        raise RunError(f"the weights in {directory.path} do not fit its config.json") from None
    return TrainedModel(model, directory, settings, own.notices)
