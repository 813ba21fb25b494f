"""One member of a sweep as a task: begun, gone on with or left alone, and never raising."""

import contextlib
import copy
import os
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pinnsig.core.errors import BusyError, PinnsigError, RunError, one_line
from pinnsig.core.interrupts import Interruption
from pinnsig.core.ranks import Ranks
from pinnsig.objective import Evaluation
from pinnsig.optim import drive
from pinnsig.problem import Problem
from pinnsig.run.building import RunComponents
from pinnsig.run.callbacks import Callback
from pinnsig.run.checkpoints import NEWEST, PREVIOUS, load_checkpoint
from pinnsig.run.directory import RunDirectory
from pinnsig.run.following import OwnParts
from pinnsig.run.processes import together
from pinnsig.run.running import Options, Solving
from pinnsig.run.solver import resuming, solving
from pinnsig.sweeps.directory import run_result, run_status
from pinnsig.sweeps.table import DONE, INTERRUPTED, MISSING
from pinnsig.training import INTERRUPTED as STOPPED
from pinnsig.training import EvaluationRequest, evaluate_alone


@dataclass(frozen=True)
class Task:
    """What it takes to run a member, in any process.

    Attributes:
        name: the member's.
        path: its run directory.
        settings: what was given, `problem` among them.
        problem_type: the problem's class, where there is no name to find it by.
        code: the digests that its file and what that imports must have, by name.
        trust: whether the code that is in its directory may be run.
        figures: whether to draw them.
        keep_checkpoint: whether a finished run keeps what `resume` needs.
        callbacks: what sees the run, in its process; each task has its own copy.
        devices: processes that share the run, started by the one that has the task.
    """

    name: str
    path: Path
    settings: dict[str, Any]
    problem_type: type[Problem] | None = None
    code: dict[str, str] | None = None
    trust: bool = False
    figures: bool = False
    keep_checkpoint: bool = False
    callbacks: tuple[Callback, ...] = ()
    devices: int = 1

    def on(self, device: str) -> "Task":
        """The same task on a device, unless its settings name one."""
        if self.settings.get("device", "auto") != "auto":
            return self
        return replace(self, settings={**self.settings, "device": device})


@dataclass(frozen=True)
class Started:
    """A task is being run; `where` says by which worker."""

    name: str
    where: str = ""


@dataclass(frozen=True)
class Ended:
    """A task is over.

    Attributes:
        reason: why it failed, in one line; None if it did not.
        killed: whether its process died, so that it is worth another try.
        interrupted: whether it was asked to end.
        busy: whether another process is training it, so that it was left alone.
        notices: what a user should know of the run, a line each.
    """

    name: str
    reason: str | None = None
    killed: bool = False
    interrupted: bool = False
    busy: bool = False
    notices: Sequence[str] = ()


def perform(
    task: Task, callbacks: Sequence[Callback] = (), interruption: Interruption | None = None
) -> Ended:
    """Run a task to its end, from its checkpoint if it has one; see `performing`."""

    def work(ranks: Ranks) -> Ended:
        return drive(performing(task, callbacks, interruption, ranks), evaluate_alone)

    try:
        return together(task.devices, work, OwnParts()) if task.devices > 1 else work(Ranks())
    except PinnsigError as error:  # its processes cannot be started
        return Ended(task.name, one_line(error))


def performing(
    task: Task,
    callbacks: Sequence[Callback] = (),
    interruption: Interruption | None = None,
    ranks: Ranks | None = None,
) -> Generator[EvaluationRequest, Evaluation, Ended]:
    """The same as a generator that asks for each loss and gradient.

    Args:
        interruption: by which it is asked to save and end, in place of signals.
        ranks: the processes that share it.
    """
    if interruption is not None and interruption.asked():
        return Ended(task.name, interrupted=True)
    said = _Said()
    # what is left of its checkpoint is decided below
    watching = copy.deepcopy(task.callbacks)
    options = Options(
        task.figures,
        [*callbacks, *watching, said],
        keep_checkpoint=True,
        ranks=ranks or Ranks(),
    )
    try:
        status, notice = _prepare(task.path)
        said.notices += [notice] if notice else []
        if status == DONE:
            return Ended(task.name)
        run = _go_on if status == INTERRUPTED else _begin
        result = yield from run(task, options=options, interruption=interruption)
    except BusyError as error:
        return Ended(task.name, one_line(error), busy=True, notices=said.notices)
    except Exception as error:  # also a fault of the problem's own code, or no memory left
        return Ended(task.name, one_line(error), notices=said.notices)
    interrupted = result.data["stop"] == STOPPED
    if not interrupted and not task.keep_checkpoint:
        for own in (RunDirectory(task.path), *RunDirectory(task.path).slabs()):
            for name in (NEWEST, PREVIOUS):  # 80 MB each at the paper's size
                (own.path / name).unlink(missing_ok=True)
    return Ended(task.name, interrupted=interrupted, notices=said.notices)


@dataclass
class _Said(Callback):
    """Gathers what a run says."""

    notices: list[str] = field(default_factory=list)

    def started(self, parts: RunComponents, path: Path) -> None:
        """See `Callback.started`."""
        del path
        self.notices += parts.notices

    def noticed(self, text: str) -> None:
        """See `Watcher.noticed`."""
        self.notices.append(text)


def _prepare(path: Path) -> tuple[str, str | None]:
    """Make way for a run, unless there is one that is done or can go on.

    Returns:
        DONE, INTERRUPTED where it can go on, else MISSING; and what was set aside.

    Raises:
        BusyError: another process is training there.
    """
    if not path.is_dir():
        return MISSING, _set_aside(path) if os.path.lexists(path) else None
    with RunDirectory(path).locked():
        if run_status(path, run_result(path)) == DONE:
            return DONE, None
        if _can_go_on(path):
            return INTERRUPTED, None
        if RunDirectory(path).clear_begun():
            with contextlib.suppress(OSError):  # something was put there meanwhile
                path.rmdir()
                return MISSING, None
        return MISSING, _set_aside(path)


def _set_aside(path: Path) -> str:
    """Rename what stands in a run's place, so that nothing is lost; returns a notice."""
    number, aside = 1, path.with_name(f"{path.name}.aside")
    while os.path.lexists(aside):
        number += 1
        aside = path.with_name(f"{path.name}.aside{number}")
    path.rename(aside)
    return f"{path} is no run to go on with: what is there was set aside as {aside.name}"


def _begin(task: Task, **options: Any) -> Solving:
    settings = dict(task.settings)
    problem = settings.pop("problem")
    return solving(
        task.problem_type or problem, path=task.path, code=task.code, **options, **settings
    )


def _go_on(task: Task, **options: Any) -> Solving:
    device = {k: v for k, v in task.settings.items() if k == "device"}
    options |= {"problem": task.problem_type, "trust": task.trust}
    return resuming(task.path, **options, **device)


def _can_go_on(path: Path) -> bool:
    with contextlib.suppress(RunError):
        run = RunDirectory.open(path)
        if not run.slabs():  # of which each goes on from its own, if it has one
            load_checkpoint(run)
        return True
    return False
