"""How a run directory stands: finished, interrupted, failed, being trained, begun, or damaged."""

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinnsig.core.errors import RunError
from pinnsig.run.checkpoints import load_checkpoint
from pinnsig.run.directory import RunDirectory
from pinnsig.training import FAILED, INTERRUPTED

FINISHED_RUN, INTERRUPTED_RUN, FAILED_RUN = "finished", "interrupted", "failed"
TRAINING_RUN, BEGUN_RUN, DAMAGED_RUN = "training", "begun", "damaged"


@dataclass(frozen=True)
class RunState:
    """How a run stands.

    Attributes:
        name: finished; interrupted (there is a checkpoint to go on from); failed; training (by
            another process, at present); begun (it ended before its first checkpoint); damaged.
        text: the same in a line for people, with what to do.
        last: the last logged iteration, where there is a log.
        result: what `result.json` holds, where it is whole.
    """

    name: str
    text: str
    last: dict[str, Any] | None = None
    result: dict[str, Any] | None = None


def run_state(path: str | Path) -> RunState:
    """Return how a run stands; nothing is changed, and no code of the run's is run.

    Raises:
        RunError: there is no run.
    """
    directory = RunDirectory.open(path)
    last = None
    with contextlib.suppress(RunError):
        for last in directory.metrics():  # noqa: B007, the last one is wanted
            pass
    far = ""
    if last:  # a classifier's log has other names
        step, loss = (last.get(n, last.get(o)) for n, o in (("step", "iteration"),
                                                             ("loss", "train_loss")))  # fmt: skip
        far = f" after {step} iterations, at a loss of {loss}"
    go_on = f"go on with: pinnsig resume {directory.path}"
    if directory.is_locked():
        return RunState(TRAINING_RUN, f"{path} is being trained{far}", last)
    if (directory.path / "result.json").is_file():
        return _ended(directory, last, go_on)
    if directory.slabs():
        text = f"{path} has no result.json: {len(directory.slabs())} of its slabs were begun"
        return RunState(INTERRUPTED_RUN, f"{text}{far}; {go_on}", last)
    try:
        load_checkpoint(directory)
    except RunError as error:
        if "has no checkpoint" in str(error):
            text = f"{path} was begun and has no checkpoint: start it anew"
            return RunState(BEGUN_RUN, text, last)
        return RunState(DAMAGED_RUN, str(error), last)
    return RunState(
        INTERRUPTED_RUN, f"{path} has no result.json: it was being trained{far}; {go_on}", last
    )


def _ended(directory: RunDirectory, last: dict[str, Any] | None, go_on: str) -> RunState:
    try:
        result = directory.read_json("result.json")
    except RunError as error:
        return RunState(DAMAGED_RUN, f"{error}; {go_on}", last)
    stop = str(result.get("stop"))
    if stop == INTERRUPTED:
        return RunState(INTERRUPTED_RUN, f"{directory.path} was interrupted; {go_on}", last, result)
    if stop.startswith(FAILED):
        return RunState(FAILED_RUN, f"{directory.path} {stop}", last, result)
    return RunState(FINISHED_RUN, f"{directory.path} is finished: {stop}", last, result)
