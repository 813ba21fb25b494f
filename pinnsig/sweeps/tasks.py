"""One member of a sweep as a task: begun, gone on with or left alone, and never raising."""

import contextlib
import shutil
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pinnsig.callbacks import Callback
from pinnsig.checkpoints import NEWEST, PREVIOUS, load_checkpoint
from pinnsig.errors import PinnsigError, RunError
from pinnsig.interrupts import Interruption
from pinnsig.objective import Evaluation
from pinnsig.optim import drive
from pinnsig.problem import Problem
from pinnsig.runs import RunDirectory
from pinnsig.solver import Solving, resuming, solving
from pinnsig.training import INTERRUPTED, Asked, evaluate_alone


@dataclass(frozen=True)
class Task:
    """What it takes to run a member, in any process.

    Attributes:
        name: the member's.
        path: its run directory.
        settings: what was given, `problem` among them.
        kind: the problem's class, where there is no name to find it by.
        code: the digests that its file and what that imports must have, by name.
        trust: whether the code that is in its directory may be run.
        figures: whether to draw them.
        keep_checkpoint: whether a finished run keeps what `resume` needs.
    """

    name: str
    path: Path
    settings: dict[str, Any]
    kind: type[Problem] | None = None
    code: dict[str, str] | None = None
    trust: bool = False
    figures: bool = False
    keep_checkpoint: bool = False

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
    """

    name: str
    reason: str | None = None
    killed: bool = False
    interrupted: bool = False


def perform(task: Task, callbacks: Sequence[Callback] = ()) -> Ended:
    """Run a task to its end, from its checkpoint if it has one."""
    return drive(performing(task, callbacks), evaluate_alone)


def performing(
    task: Task, callbacks: Sequence[Callback] = (), interruption: Interruption | None = None
) -> Generator[Asked, Evaluation, Ended]:
    """The same as a generator that asks for each loss and gradient.

    Args:
        interruption: by which it is asked to save and end, in place of signals.
    """
    try:
        run = _go_on if _can_go_on(task.path) else _begin
        result = yield from run(task, callbacks=callbacks, interruption=interruption)
    except PinnsigError as error:
        return Ended(task.name, _one_line(str(error)))
    except Exception as error:  # a fault of the problem's own code, or no memory left
        return Ended(task.name, _one_line(f"{type(error).__name__}: {error}"))
    interrupted = result.data["stop"] == INTERRUPTED
    if not interrupted and not task.keep_checkpoint:
        for name in (NEWEST, PREVIOUS):  # 80 MB each at the paper's size
            (task.path / name).unlink(missing_ok=True)
    return Ended(task.name, interrupted=interrupted)


def _begin(task: Task, **options: Any) -> Solving:
    if task.path.exists():  # killed before its first checkpoint
        with RunDirectory(task.path).locked():
            shutil.rmtree(task.path)
    settings = dict(task.settings)
    problem = settings.pop("problem")
    return solving(
        task.kind or problem,
        path=task.path,
        figures=task.figures,
        code=task.code,
        **options,
        **settings,
    )


def _go_on(task: Task, **options: Any) -> Solving:
    device = {k: v for k, v in task.settings.items() if k == "device"}
    options |= {"problem": task.kind, "figures": task.figures, "trust": task.trust}
    return resuming(task.path, **options, **device)


def _can_go_on(path: Path) -> bool:
    with contextlib.suppress(RunError):
        load_checkpoint(RunDirectory.open(path))
        return True
    return False


def _one_line(text: str) -> str:
    return " ".join(text.split())
