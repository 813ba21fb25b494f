"""Starting or joining the processes that share one run."""

import contextlib
import inspect
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch.distributed import TCPStore  # pyright: ignore[reportPrivateImportUsage]
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from pinnsig.core.errors import RankError, RunError, SettingsError
from pinnsig.core.ranks import PATIENCE, JoinedRanks, Ranks
from pinnsig.core.threads import usable_cores
from pinnsig.problem import Problem
from pinnsig.run.checkpoints import load_checkpoint
from pinnsig.run.directory import RunDirectory
from pinnsig.run.following import HERE, End, OwnParts, follow

Value = TypeVar("Value")

HOST = "127.0.0.1"
POLL = 0.05  # seconds between looks at processes that start
LEAVING = 5.0  # seconds that a process has to end by itself


def under_torchrun() -> bool:
    """Return whether this process was started with others that are to share one run."""
    return int(os.environ.get("WORLD_SIZE", 1)) > 1 and {
        "RANK", "MASTER_ADDR", "MASTER_PORT",
    } <= set(os.environ)  # fmt: skip


def follows() -> bool:
    """Return whether it is one of those that rank 0 trains with."""
    return under_torchrun() and int(os.environ["RANK"]) > 0


def together(devices: int, work: Callable[[Ranks], Value], own: OwnParts) -> Value:
    """Do work in rank 0 of some processes, while the others answer; return its result in all.

    Args:
        devices: how many to start on this machine; 1 where torchrun has started them.
        work: what rank 0 does.
        own: what a process is given that follows.

    Raises:
        RankError: they cannot be started.
    """
    with joined(devices) as ranks:
        if ranks.rank:
            result = follow(ranks, own)
            if result is None:
                raise RankError("the run failed: rank 0 says why")
            return result
        result = None
        try:
            result = work(ranks)
            return result
        finally:
            for rank in ranks.others:
                with contextlib.suppress(RankError):
                    ranks.send(rank, End(result))


@contextlib.contextmanager
def joined(devices: int) -> Iterator[Ranks]:
    """Give this process its place among those of the run; started ones end with it."""
    if isinstance(devices, bool) or not isinstance(devices, int) or devices < 1:
        raise SettingsError(f"devices = {devices!r} must be a whole number above 0")
    if under_torchrun():
        if devices != 1:
            raise SettingsError(
                f"devices = {devices}: torchrun has started the processes already: leave it out"
            )
        with _threads(int(os.environ.get("LOCAL_WORLD_SIZE", 1)), launched=True) as whole:
            yield _of_torchrun(whole)
        return
    if devices == 1:
        yield Ranks()
        return
    with _threads(devices) as whole, _started(devices) as store:
        ranks = JoinedRanks(store, 0, devices, 0, devices, whole, started=True)
        yield ranks


def _of_torchrun(whole: int) -> JoinedRanks:
    store, rank, size = next(iter(rendezvous("env://", timeout=PATIENCE)))
    number, here = (int(os.environ.get(f"LOCAL_{n}", 0)) for n in ("RANK", "WORLD_SIZE"))
    run = os.environ.get("TORCHELASTIC_RUN_ID", "")
    launch = f"{run} {socket.gethostname()} {os.getppid()}"
    attempt = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0))
    store = PrefixStore(f"attempt {attempt}", store)  # it still knows those that have ended
    return JoinedRanks(store, rank, size, number, here, whole, launch=launch, again=attempt > 0)


def own_parts(problem: Any, network: Any) -> OwnParts:
    """Return what a script gives that is no name."""
    return OwnParts(
        problem if inspect.isclass(problem) and issubclass(problem, Problem) else None,
        None if isinstance(network, str) else network,
    )


def refuse_slabs(ranks: Ranks) -> None:
    """Refuse slabs of time where several processes share a run.

    Raises:
        SettingsError: they do.
    """
    if ranks.size > 1:
        raise SettingsError(
            "slabs are trained one after another by one process: leave out slabs, or devices"
        )


def begun_by(launch: str, path: str | Path | None) -> Path | None:
    """Return the run at a path that has a checkpoint, if the same launch began it; None else.

    What that began and left without a checkpoint is removed, so that it can begin again.
    """
    if not launch or path is None:
        return None
    try:
        run = RunDirectory.open(path)
        if run.read_json("config.json").get("environment", {}).get("launch") != launch:
            return None
    except RunError:
        return None
    with run.locked():
        try:
            load_checkpoint(run)
        except RunError:
            run.clear_begun()
            return None
    return run.path


@contextlib.contextmanager
def _threads(sharing: int, launched: bool = False) -> Iterator[int]:
    """Have each of the processes on this machine take its part of the threads; give those of all.

    torchrun sets OMP_NUM_THREADS to 1 where it is not set.
    """
    before = torch.get_num_threads()
    if launched:
        own = before
        whole = usable_cores() or 1
        if os.environ.get("OMP_NUM_THREADS", "1") == "1":
            own = max(whole // sharing, 1)
    else:
        whole, own = before, max(before // sharing, 1)
    torch.set_num_threads(own)
    try:
        yield whole
    finally:
        torch.set_num_threads(before)


@contextlib.contextmanager
def _started(size: int) -> Iterator[Store]:
    """Start the others on this machine."""
    store = TCPStore(HOST, 0, is_master=True, wait_for_workers=False, timeout=PATIENCE)
    threads = torch.get_num_threads()
    environment = {
        **os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONPATH": os.pathsep.join(sys.path),
    }  # fmt: skip
    start = "import sys; from pinnsig.run.following import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", start, HOST, str(store.port)]
    processes = [
        subprocess.Popen(
            [*command, str(rank), str(size), str(threads)],
            env=environment,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        for rank in range(1, size)
    ]
    try:
        _meet(store, processes)
        yield store
    finally:
        _end(processes)


def _meet(store: Store, processes: list[subprocess.Popen[bytes]]) -> None:
    """Wait until all are there.

    Raises:
        RankError: one has ended instead.
    """
    keys = [HERE.format(rank) for rank in range(1, len(processes) + 1)]
    while not store.check(keys):
        for rank, process in enumerate(processes, start=1):
            if process.poll() is not None and not store.check([HERE.format(rank)]):
                raise RankError(f"a process of this run ended as it started (rank {rank})")
        time.sleep(POLL)


def _end(processes: list[subprocess.Popen[bytes]]) -> None:
    latest = time.monotonic() + LEAVING
    for process in processes:
        try:
            process.wait(max(latest - time.monotonic(), 0.0))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
