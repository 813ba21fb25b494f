"""Running tasks as SLURM jobs, whose nodes share this file system and this Python environment."""

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from pinnsig.core.errors import DeviceError, SettingsError, first_line
from pinnsig.core.extras import require_extra
from pinnsig.core.interrupts import interruptible
from pinnsig.sweeps.executors import Event, Executor, Tell, Waiting
from pinnsig.sweeps.tasks import Ended, Started, Task, perform

POLL = 2.0  # seconds between looks at the queue
RENAMED = {"time": "timeout_min", "gpus": "gpus_per_node", "memory": "mem_gb"}
LOGS = Path("slurm")


class SlurmCluster(Executor):
    """Jobs of a SLURM cluster, each one run; needs the extra `pinnsig[slurm]`.

    Args:
        jobs: how many at once in the queue.
        cluster: `slurm`, or `local`: processes of this machine, to try it out.
        logs: where scripts and output of jobs go, on a file system that nodes share.
        poll: seconds between looks at the queue.
        parameters: of a job, as submitit has them: `partition`, `time` (minutes), `gpus`,
            `cpus_per_task`, `memory` (GB), `account`, `qos`, `constraint`; others begin with
            `slurm_`.

    Raises:
        DeviceError: submitit is not installed, or there is no SLURM here.
        SettingsError: a parameter that it does not know.
    """

    def __init__(
        self,
        *,
        jobs: int = 16,
        cluster: str = "slurm",
        logs: str | Path = LOGS,
        poll: float = POLL,
        wait: Callable[[float], None] = time.sleep,
        **parameters: Any,
    ) -> None:
        submitit = require_extra("submitit", "slurm", "SLURM", DeviceError)
        if jobs < 1:
            raise SettingsError(f"slurm: jobs = {jobs} must be at least 1")
        self.jobs, self.poll, self.wait = jobs, poll, wait
        self.threads = int(parameters.get("cpus_per_task", 1))
        try:
            self.executor = submitit.AutoExecutor(Path(logs).absolute(), cluster=cluster)
            self.executor.update_parameters(
                name="pinnsig", **{_parameter(name, cluster): v for name, v in parameters.items()}
            )
        except (RuntimeError, ValueError, NameError, TypeError, AssertionError) as error:
            raise DeviceError(f"no SLURM jobs can be made here: {first_line(error)}") from None

    @property
    def workers(self) -> int:
        """How many jobs at once."""
        return self.jobs

    def run(self, tasks: Iterable[Task], tell: Tell) -> Iterator[Event]:
        """See `Executor.run`."""
        waiting, running = Waiting(tasks), dict[str, tuple[Task, Any]]()
        told = False
        try:
            with interruptible(tell) as interruption:
                while True:
                    if interruption.asked() and not told:
                        told = True
                        waiting.clear()
                        _cancel(job for _, job in running.values())
                    for task, job in self._submit(waiting, self.jobs - len(running)):
                        running[task.name] = task, job
                        yield Started(task.name, f"job {job.job_id}")
                    if not running:
                        return
                    done = [name for name, (_, job) in running.items() if job.done()]
                    for name in done:
                        yield _ended(name, running.pop(name)[1], told)
                    if not done:
                        self.wait(self.poll)
        finally:  # the sweep was torn away: nothing goes on without it
            _cancel(job for _, job in running.values())

    def _submit(self, waiting: Waiting, room: int) -> list[tuple[Task, Any]]:
        """Send as many tasks as there is room for, several as one array of jobs."""
        tasks: list[Task] = []
        while len(tasks) < room and (task := waiting.take()) is not None:
            tasks.append(replace(task, trust=True, path=task.path.absolute()))  # asked here
        array = self.executor.batch() if len(tasks) > 1 else contextlib.nullcontext()
        with array:
            jobs = [self.executor.submit(perform_on_node, task, self.threads) for task in tasks]
        return list(zip(tasks, jobs, strict=True))


def _cancel(jobs: Iterable[Any]) -> None:
    """Have jobs save their runs and end: SLURM sends SIGTERM first."""
    for job in jobs:
        with contextlib.suppress(Exception):  # it may have ended just now
            job.cancel(check=False)


def perform_on_node(task: Task, threads: int) -> Ended:
    """On a node: run a task to its end."""
    torch.set_num_threads(threads)
    return perform(task)


def _ended(name: str, job: Any, told: bool) -> Ended:
    """How a job ended; one without an answer was killed, by its time limit or its node."""
    try:
        ended: Ended = job.result()
    except Exception as error:  # submitit's own, and whatever the node raised
        lines = [line for line in str(error).splitlines() if line.strip()]
        reason = lines[-1].strip() if lines else type(error).__name__
        return Ended(name, f"its job {job.job_id} ended: {reason}", killed=True, interrupted=told)
    if ended.interrupted and not told:  # by the cluster, which preempts or limits
        return replace(ended, reason=f"its job {job.job_id} was asked to end", killed=True,
                       interrupted=False)  # fmt: skip
    return ended


def _parameter(name: str, cluster: str) -> str:
    """A parameter as submitit calls it."""
    if name in ("partition", "account", "qos", "constraint") and cluster == "slurm":
        return f"slurm_{name}"
    return RENAMED.get(name, name)
