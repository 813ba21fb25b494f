"""SLURM jobs as processes of this machine, and jobs that die, by a stand-in for the queue."""

import contextlib
from pathlib import Path
from typing import Any

import pytest

import pinnsig
from pinnsig.core.errors import DeviceError, SettingsError
from pinnsig.sweeps.slurm import SlurmCluster, perform_on_node
from pinnsig.sweeps.tasks import Ended
from tests.conftest import SMALL, Cli

submitit = pytest.importorskip("submitit", reason="needs pip install 'pinnsig[slurm]'")

FLAGS = {**SMALL, "seed": "0,1"}


@pytest.mark.slow
def test_a_job_gives_what_this_process_gives(tmp_path: Path):
    here = pinnsig.sweep("heat", out=tmp_path / "here", **SMALL)
    cluster = SlurmCluster(
        jobs=1, cluster="local", logs=tmp_path / "logs", poll=0.05, timeout_min=10
    )
    there = pinnsig.sweep("heat", out=tmp_path / "there", executor=cluster, **SMALL)
    assert there.values("status") == ["done"]
    assert there.column("best_loss") == here.column("best_loss")
    assert list((tmp_path / "logs").glob("*_log.out"))


class Job:
    """Done when it is asked for the second time."""

    def __init__(self, number: int, answer: Any) -> None:
        self.job_id, self.answer = str(number), answer
        self.looks, self.cancelled = 0, False

    def done(self) -> bool:
        self.looks += 1
        return self.looks > 1 or self.cancelled

    def cancel(self, check: bool = True) -> None:
        self.cancelled = True

    def result(self) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Queue:
    """What jobs are submitted to; the first one dies, all others do their work at once."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.arrays = 0

    def batch(self) -> contextlib.AbstractContextManager[None]:
        self.arrays += 1
        return contextlib.nullcontext()

    def submit(self, work, task, threads):
        assert work is perform_on_node
        dead = RuntimeError("Job (task=0) failed\nit ran out of memory")
        self.jobs.append(Job(len(self.jobs), dead if not self.jobs else work(task, threads)))
        return self.jobs[-1]


def cluster(tmp_path: Path, queue: Queue, **options: Any) -> SlurmCluster:
    made = SlurmCluster(cluster="local", logs=tmp_path / "logs", wait=lambda _: None, **options)
    made.executor = queue  # type: ignore[assignment]
    return made


def test_a_job_that_dies_is_submitted_again(tmp_path: Path):
    queue = Queue()
    table = pinnsig.sweep("heat", out=tmp_path / "s", executor=cluster(tmp_path, queue), **FLAGS)
    assert table.values("status") == ["done"]
    assert len(queue.jobs) == 3
    assert queue.arrays == 1  # both at once; the one that died is sent alone


def test_given_up_it_says_why(tmp_path: Path):
    table = pinnsig.sweep(
        "heat", out=tmp_path / "s", executor=cluster(tmp_path, Queue()), retry=0, **FLAGS
    )
    assert table.column("status") == ["failed", "done"]
    assert table[0]["reason"] == "its job 0 ended: it ran out of memory"


def test_a_job_that_the_cluster_ends_goes_on_later(tmp_path: Path):
    queue = Queue()

    def submit(work, task, threads):
        queue.jobs.append(Job(len(queue.jobs), Ended(task.name, interrupted=True)))
        return queue.jobs[-1]

    queue.submit = submit  # type: ignore[method-assign]
    table = pinnsig.sweep(
        "heat", out=tmp_path / "s", executor=cluster(tmp_path, queue), **{**FLAGS, "seed": 0}
    )
    assert not table.interrupted
    assert table[0]["reason"] == "its job 1 was asked to end"


def test_as_many_jobs_as_are_allowed(tmp_path: Path):
    queue, most = Queue(), 0
    made = cluster(tmp_path, queue, jobs=2)

    def look(_: float) -> None:
        nonlocal most
        most = max(most, sum(not job.looks > 1 for job in queue.jobs))

    made.wait = look
    pinnsig.sweep("heat", out=tmp_path / "s", executor=made, **{**FLAGS, "seed": "0:3:4"})
    assert most == 2


def test_jobs_end_with_a_sweep_that_is_torn_away(tmp_path: Path):
    queue = Queue()
    made = cluster(tmp_path, queue)

    def torn(_: float) -> None:
        raise KeyboardInterrupt

    made.wait = torn
    with pytest.raises(KeyboardInterrupt):
        pinnsig.sweep("heat", out=tmp_path / "s", executor=made, **FLAGS)
    assert [job.cancelled for job in queue.jobs] == [True, True]


def test_what_is_refused(cli: Cli, tmp_path: Path):
    with pytest.raises(DeviceError, match="no SLURM jobs can be made here"):
        SlurmCluster(logs=tmp_path / "logs")
    with pytest.raises(SettingsError, match="jobs = 0"):
        SlurmCluster(jobs=0, cluster="local", logs=tmp_path / "logs")
    with pytest.raises(DeviceError, match="tiem"):
        SlurmCluster(cluster="local", logs=tmp_path / "logs", tiem=60)
    out = tmp_path / "s"
    flags = ["sweep", "heat", "--seed", "0,1", "--out", out]
    assert "is not NAME=VALUE" in cli(*flags, "--slurm", "gpu").complaint()
    both = cli(*flags, "--slurm", "time=60", "--workers", 2).complaint()
    assert "give one of --workers and --slurm" in both
    assert not out.exists()
