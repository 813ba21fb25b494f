"""Running tasks on a Ray cluster, whose nodes need nothing but this package.

A run trains in a scratch directory of its node and its files come back over Ray, so no file system
is shared. Where a node dies, Ray begins its runs again on another one.
"""

import contextlib
import io
import logging
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from pinnsig.core.errors import DeviceError, PinnsigError, RunError, first_line, whole_message
from pinnsig.core.interrupts import interruptible
from pinnsig.problem import problem_class, problem_file, source_of
from pinnsig.problem.opened import OpenedFiles
from pinnsig.run.checkpoints import NEWEST, PREVIOUS
from pinnsig.run.directory import RunDirectory
from pinnsig.run.source import require_trust
from pinnsig.sweeps.executors import Event, Executor, Tell, Waiting
from pinnsig.sweeps.tasks import Ended, Started, Task, perform

try:
    import ray  # pyright: ignore[reportMissingImports]
except ImportError:
    ray: Any = None

POLL = 0.2  # seconds between looks for an interruption
TRIES_ELSEWHERE = 3  # of a run whose node or process died


class RayCluster(Executor):
    """A Ray cluster that is there already, or one on this machine.

    Args:
        address: of the head node; `auto` finds the cluster that this machine belongs to, `local`
            starts one here.
        cpus: for each run, which also has so many threads; at least one.
        gpus: for each run; parts of one are shared, and several are used by as many processes.

    Raises:
        DeviceError: ray is not installed, or there is no such cluster, or a number of GPUs that it
            cannot give.
    """

    def __init__(self, address: str = "auto", cpus: float = 1.0, gpus: float = 0.0) -> None:
        if ray is None:
            raise DeviceError("ray is not installed: pip install 'pinnsig[ray]'")
        self.devices = devices_of(gpus)
        if not ray.is_initialized():
            try:
                ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
            except (ConnectionError, ValueError) as error:
                raise DeviceError(
                    f"no Ray cluster at {address} ({first_line(error)}): start one with "
                    "`ray start --head`, or use local"
                ) from None
        self.resources = {"CPU": cpus, "GPU": gpus}
        self.threads = max(int(cpus), 1)
        if not self.workers:
            have = {name: ray.cluster_resources().get(name, 0) for name in self.resources}
            raise DeviceError(f"the cluster has {have}, too little for {self.resources} of a run")

    @property
    def workers(self) -> int:
        """How many runs the nodes that are there now have room for."""
        have = ray.cluster_resources()
        return int(min(have.get(name, 0) / n for name, n in self.resources.items() if n))

    def run(self, tasks: Iterable[Task], tell: Tell) -> Iterator[Event]:
        """See `Executor.run`."""
        remote = ray.remote(_perform_in_scratch).options(
            num_cpus=self.resources["CPU"],
            num_gpus=self.resources["GPU"],
            max_retries=TRIES_ELSEWHERE,
        )
        waiting, running = Waiting(tasks), {}
        told = False
        with interruptible(tell) as interruption:
            while True:
                if interruption.asked() and not told:
                    told = True
                    waiting.clear()
                    for reference in running:
                        ray.cancel(reference)  # Ctrl-C, which a run takes as the wish to be saved
                while len(running) < max(self.workers, 1) and (task := waiting.take()) is not None:
                    try:
                        sent = _packed(task.path), _source(task)
                    except PinnsigError as error:  # its problem's file changed meanwhile
                        yield Ended(task.name, str(error))
                        continue
                    # trust was asked for here, nodes cannot know
                    task = replace(task, trust=True, devices=self.devices)
                    running[remote.remote(task, *sent, self.threads)] = task
                    yield Started(task.name)
                if not running:
                    return
                ready, _ = ray.wait(list(running), timeout=POLL)
                for reference in ready:
                    yield _received(reference, running.pop(reference), told)


def devices_of(gpus: float) -> int:
    """Return how many processes a run with so many GPUs has.

    Raises:
        DeviceError: it is no share of one, and no whole number.
    """
    if gpus > 1 and gpus != int(gpus):
        raise DeviceError(f"{gpus:g} GPUs for each run cannot be: a share of one, or whole ones")
    return max(int(gpus), 1)


def _received(reference: Any, task: Task, told: bool) -> Ended:
    """How a task ended, once its files are here."""
    try:
        ended, files = ray.get(reference)
    except ray.exceptions.RayError as error:
        reason = f"{type(error).__name__}: {whole_message(error)}"
        return Ended(task.name, reason, killed=True, interrupted=told)
    if files:  # none where it could not even begin
        _unpack(files, task.path)
        _tell_its_place(task.path)
        with contextlib.suppress(PinnsigError):
            require_trust(task.path, True)  # it ran the code that was sent from here
    return ended


def _perform_in_scratch(
    task: Task, files: bytes, source: tuple[str, bytes] | None, threads: int
) -> tuple[Ended, bytes]:
    """On a node: run a task in a scratch directory; returns how it ended, and the directory."""
    torch.set_num_threads(threads)
    with tempfile.TemporaryDirectory(prefix="pinnsig-") as place:
        path = Path(place, task.name)
        if files:
            _unpack(files, path)
        settings = dict(task.settings)
        if source is not None:
            name, packed = source
            _unpack(packed, Path(place, "source"))
            settings["problem"] = str(Path(place, "source", name))
        ended = perform(replace(task, path=path, settings=settings))
        return ended, _packed(path)


def _source(task: Task) -> tuple[str, bytes] | None:
    """Name and files of the user's own problem, which the nodes do not have.

    Raises:
        PinnsigError: the problem cannot be imported, or changed.
    """
    named = task.settings["problem"]
    file = None if task.problem_type else problem_file(named)
    if file is None:
        return None
    problem_type = problem_class(named, task.code)
    opened = OpenedFiles(file.path.absolute().parent)
    with opened.watching(), contextlib.suppress(Exception):  # it will say so where it is run
        problem_type(**task.settings.get("set", {})).terms()
    source = source_of(problem_type).having_read(opened)
    with tempfile.TemporaryDirectory(prefix="pinnsig-") as place:
        source.copy(Path(place), links=False)
        name = f"{file.path.name}:{file.chosen}" if file.chosen else file.path.name
        return name, _packed(Path(place))


def _packed(path: Path) -> bytes:
    """A directory in one piece; nothing of one that is not there."""
    if not path.is_dir():
        return b""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", dereference=True) as archive:
        archive.add(path, ".")
    return stream.getvalue()


def _unpack(files: bytes, path: Path) -> None:
    """Put a run's files in their place, its result last; what else is there stays."""
    part = path.with_name(f".{path.name}.tmp")
    shutil.rmtree(part, ignore_errors=True)
    with tarfile.open(fileobj=io.BytesIO(files)) as archive:
        archive.extractall(part, filter="data")
    came = [file.relative_to(part) for file in part.rglob("*") if not file.is_dir()]
    for name in sorted(came, key=lambda name: (name.name == "result.json", str(name))):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (part / name).replace(path / name)
    for name in (NEWEST, PREVIOUS):  # which a finished run has no more
        if not any(file.name == name for file in came):
            (path / name).unlink(missing_ok=True)
    shutil.rmtree(part, ignore_errors=True)


def _tell_its_place(path: Path) -> None:
    """Have the result name the directory that the run is in now."""
    directory = RunDirectory(path)
    with contextlib.suppress(RunError):
        directory.write_json(
            "result.json", {**directory.read_json("result.json"), "run": str(path)}
        )
