"""Sweeps on a real Ray cluster of several node processes on this machine."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pinnsig
from tests.conftest import SMALL
from tests.processes import Place, wait_for
from tests.sweeps.conftest import press_ctrl_c

ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'pinnsig[ray]'")

from ray.cluster_utils import Cluster  # noqa: E402  # pyright: ignore[reportMissingImports]

from pinnsig.sweeps.ray_cluster import RayCluster  # noqa: E402

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head that runs nothing, and two nodes of one CPU."""
    memory = 100 * 1024**2
    made = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 0, "object_store_memory": memory, "include_dashboard": False},
    )
    for _ in range(2):
        made.add_node(num_cpus=1, object_store_memory=memory)
    made.wait_for_nodes()
    ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
    yield made
    ray.shutdown()
    made.shutdown()


def test_an_interruption_saves_every_run(tmp_path: Path, place: Place, cluster: Any):
    slow = place.problem("if self.is_training(): hold()")
    flags = {**SMALL, "adam": 20, "seed": "0,1,2", "out": tmp_path / "sweep"}
    place.hold()
    press_ctrl_c(place, 2)
    table = pinnsig.sweep(slow, executor=RayCluster(), **flags)
    assert table.interrupted
    assert table.column("status") == ["interrupted", "interrupted", "missing"]
    place.release()
    table = pinnsig.sweep(slow, executor=RayCluster(), **flags)
    assert table.values("status") == ["done"]
    resumed = [pinnsig.load(table.path / row["run"]).directory.read_json("result.json")
               for row in table]  # fmt: skip
    assert [result["resumed"] for result in resumed] == [1, 1, 0]


def test_a_node_that_dies_costs_nothing(tmp_path: Path, place: Place, cluster: Any):
    """One of two nodes is killed while both train: its run is begun again on the other."""

    def kill() -> None:
        wait_for(lambda: len(place.holding()) == 2)
        cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
        place.release()

    slow = place.problem("if self.is_training(): hold()")
    place.hold()
    flags = {**SMALL, "adam": 20, "seed": "0,1,2"}
    executor = RayCluster()
    assert executor.workers == 2
    killer = threading.Thread(target=kill)
    killer.start()
    table = pinnsig.sweep(slow, executor=executor, out=tmp_path / "ray", **flags)
    killer.join()
    wait_for(lambda: executor.workers == 1)  # news of the dead node takes a while
    assert table.values("status") == ["done"]
    assert table.values("reason") == [None]
    assert len(place.trained()) == 2
    there = sum(place.trained().values())
    here = pinnsig.sweep(slow, out=tmp_path / "here", **flags)
    assert table.column("best_loss") == here.column("best_loss")
    assert there > sum(place.trained().values()) - there
    result = pinnsig.load(table.path / table[0]["run"]).directory.read_json("result.json")
    assert result["run"] == str(table.path / table[0]["run"])
