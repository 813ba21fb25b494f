"""A run with several GPUs on Ray is shared by as many processes; Ray itself is not needed here."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pinnsig.core.errors import DeviceError
from pinnsig.core.ranks import Ranks
from pinnsig.run.following import OwnParts
from pinnsig.sweeps import ray_cluster, tasks
from pinnsig.sweeps.tasks import Ended, Task
from tests.conftest import SMALL


@dataclass(eq=False)
class Done:
    """What a remote call gave."""

    found: Any


class Sent:
    """A stand-in for Ray that runs at once what it is sent."""

    class exceptions:  # noqa: N801, as Ray calls it
        RayError = ConnectionError

    def __init__(self) -> None:
        self.options_given: dict[str, Any] = {}

    def is_initialized(self) -> bool:
        return True

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 8.0, "GPU": 8.0}

    def remote(self, function: Callable[..., Any]) -> Any:
        sent = self

        class Remote:
            def options(self, **given: Any) -> "Remote":
                sent.options_given = given
                return self

            def remote(self, *arguments: Any) -> Done:
                return Done(function(*arguments))

        return Remote()

    def wait(self, references: list[Done], timeout: float) -> tuple[list[Done], list[Done]]:
        return references, []

    def get(self, reference: Done) -> Any:
        return reference.found


@pytest.mark.parametrize(("gpus", "processes"), [(0.0, 1), (0.5, 1), (1.0, 1), (4.0, 4)])
def test_as_many_processes_as_gpus(
    gpus: float, processes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = Sent()
    monkeypatch.setattr(ray_cluster, "ray", sent)
    started: list[int] = []

    def together(devices: int, work: Callable[[Ranks], Ended], own: OwnParts) -> Ended:
        started.append(devices)
        return work(Ranks())

    monkeypatch.setattr(tasks, "together", together)
    task = Task("one", tmp_path / "one", {"problem": "heat", **SMALL, "adam": 1, "lbfgs": 0})
    executor = ray_cluster.RayCluster(cpus=2, gpus=gpus)
    events = list(executor.run([task], lambda number: None))
    assert [event.reason for event in events if isinstance(event, Ended)] == [None]
    assert sent.options_given["num_gpus"] == gpus
    assert started == ([processes] if processes > 1 else [])
    assert (tmp_path / "one" / "result.json").is_file()


def test_parts_of_several_gpus_cannot_be() -> None:
    with pytest.raises(DeviceError, match=r"1\.5 GPUs for each run cannot be"):
        ray_cluster.devices_of(1.5)
