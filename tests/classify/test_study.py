"""Studies: every member trained once, whatever happens."""

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from pinnsig.classify import ClassifySettings, Training, study
from pinnsig.core.errors import DatasetError, RunError
from tests.classify.conftest import tiny
from tests.conftest import strict_json

CLOCKS = ("seconds", "run")


def plain(outcomes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in one.items() if k not in CLOCKS} for one in outcomes]


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many members each training has had."""
    counts: list[int] = []
    run = Training.run

    def counted(self: Training, *given: Any) -> Any:
        counts.append(len(self.members))
        return run(self, *given)

    monkeypatch.setattr(Training, "run", counted)
    return counts


MEMBERS = [tiny(seed=0), tiny(seed=1), tiny(act="erf"), tiny(depth=4)]


def test_an_outcome_is_what_training_gives(data: Path, images: Any):
    outcomes = study(MEMBERS, data=data)
    for member, outcome in zip(MEMBERS, outcomes, strict=True):
        training = Training([member], images)
        for _ in training.run():
            pass
        epochs = training.members[0].epochs
        assert outcome["accuracy"] == [epoch.validation_accuracy for epoch in epochs]
        assert outcome["loss"] == [epoch.train_loss for epoch in epochs]
        assert outcome["best_validation_accuracy"] == max(outcome["accuracy"])
        assert outcome["test_accuracy"] == training.members[0].test_accuracy
        assert (outcome["seed"], outcome["depth"]) == (member.seed, member.depth)
        assert outcome["finite"]


def test_what_is_done_is_not_done_again(data: Path, tmp_path: Path, trainings: list[int]):
    out = tmp_path / "a" / "study"
    told: list[tuple[int, int]] = []
    first = study(MEMBERS[:3], out, data=data, tell=lambda *n: told.append(n))
    assert trainings == [1, 1, 1]
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]
    files = sorted(out.iterdir())
    assert len(files) == 3
    for path in files:
        strict_json(path.read_text(encoding="utf-8"))
    again = study([*reversed(MEMBERS[:3]), MEMBERS[3], MEMBERS[0]], out, data=data)
    assert trainings == [1] * 4  # the new one
    assert plain(again[:3]) == plain(first[::-1])
    assert plain(again[4:]) == plain(first[:1])


@pytest.mark.parametrize("damage", [lambda text: text[:-30], lambda _: "", lambda _: "[1]"])
def test_a_torn_outcome_is_trained_again(
    data: Path, tmp_path: Path, trainings: list[int], damage: Any
):
    first = study(MEMBERS[:2], tmp_path, data=data)
    torn = sorted(tmp_path.iterdir())[0]
    torn.write_text(damage(torn.read_text()))
    assert plain(study(MEMBERS[:2], tmp_path, data=data)) == plain(first)
    assert trainings == [1, 1, 1]
    assert plain([json.loads(torn.read_text())])[0] in plain(first)


def test_a_member_that_cannot_be_trained(data: Path, tmp_path: Path, trainings: list[int]):
    """Is an outcome with its reason; the others are trained, and it is tried again."""
    members = [tiny(act="tahn"), tiny(), tiny(samples=10**6), tiny(init="xavier", p=0.3)]
    outcomes = study(members, tmp_path, data=data)
    assert ["failed" in outcome for outcome in outcomes] == [True, False, True, True]
    for outcome, part in zip(outcomes, ("tahn", "", "images are left", "p"), strict=True):
        assert part in outcome.get("failed", "")
    assert outcomes[0]["act"] == "tahn"
    assert plain(study(members, tmp_path, data=data)) == plain(outcomes)
    assert trainings == [1]


def test_a_lost_member_is_an_outcome(data: Path, tmp_path: Path):
    lost = tiny(act="1e30*tanh", lr=1e37, init="xavier")
    (outcome,) = study([lost], tmp_path, data=data)
    assert not outcome["finite"]
    (path,) = tmp_path.iterdir()
    assert strict_json(path.read_text())["loss"][-1] is None
    assert study([lost], tmp_path, data=data)[0]["accuracy"] == outcome["accuracy"]


@pytest.mark.slow
def test_two_workers_do_what_one_does(data: Path, tmp_path: Path):
    members = [*MEMBERS, tiny(act="tahn")]
    one = study(members, data=data)
    two = study(members, tmp_path, data=data, workers=2)
    assert plain(one) == plain(two)
    assert len(list(tmp_path.iterdir())) == len(members)


def test_other_images_are_another_study(data: Path, tmp_path: Path, trainings: list[int]):
    out = tmp_path / "out"
    first = study([tiny()], out, data=data)
    moved = Path(shutil.copytree(data, tmp_path / "moved"))
    assert plain(study([tiny()], out, data=moved)) == plain(first)  # the same images elsewhere
    assert trainings == [1]
    path = moved / "mnist" / "train-labels-idx1-ubyte"
    content = bytearray(path.read_bytes())
    content[-1], content[-2] = content[-2], content[-1]
    path.write_bytes(content)
    study([tiny()], out, data=moved)
    assert trainings == [1, 1]


@pytest.mark.parametrize(
    "given",
    [{"seed": 9}, {"lr": 1e-2}, {"scale": 2.0}, {"epochs": 2}, {"batch": 16}, {"inputs": "unit"},
     {"validation": 0.2}, {"dtype": "float64"}, {"batch_norm": True}, {"samples": 50}],
    ids=str,
)  # fmt: skip
def test_every_setting_counts(data: Path, tmp_path: Path, trainings: list[int], given: Any):
    study([tiny()], tmp_path, data=data)
    study([tiny(**given)], tmp_path, data=data)
    assert trainings == [1, 1]
    assert len(list(tmp_path.iterdir())) == 2


def test_members_of_one_shape_train_together_on_an_accelerator(
    data: Path, monkeypatch: pytest.MonkeyPatch, trainings: list[int]
):
    """As many as fit into half of its memory; each gets its own outcome."""
    members: list[ClassifySettings] = [tiny(seed=s, dtype="float64") for s in range(5)]
    alone = study([*members, MEMBERS[3]], data=data)
    trainings.clear()
    module = sys.modules["pinnsig.classify.study"]
    monkeypatch.setattr(module, "_most", lambda *_: 3)
    together = study([*members, MEMBERS[3]], data=data)
    assert sorted(trainings) == [1, 2, 3]
    for one, two in zip(alone, together, strict=True):
        assert one["accuracy"] == two["accuracy"]
        assert one["loss"] == pytest.approx(two["loss"], rel=1e-7)


def test_one_bad_member_does_not_spoil_its_group(data: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys.modules["pinnsig.classify.study"], "_most", lambda *_: 9)
    outcomes = study([tiny(), tiny(act="tahn"), tiny(seed=1)], data=data)
    assert ["failed" in outcome for outcome in outcomes] == [False, True, False]


def test_how_many_go_together(data: Path, images: Any, monkeypatch: pytest.MonkeyPatch):
    module: Any = sys.modules["pinnsig.classify.study"]
    monkeypatch.setattr(module, "available_memory", lambda _: 2**30)

    def most(**given: Any) -> int:
        settings = tiny(**{"depth": 50, "width": 512, "batch": 128, **given})
        object.__setattr__(settings, "device", "cuda")
        return module._most(settings, {"mnist": images})

    assert 1 <= most() <= 2  # 13 million weights of 4 bytes, eight times, into half a gigabyte
    assert most(dtype="float64") == 1
    assert most(width=1024) == 1
    assert most(depth=3, width=8) == 64
    assert module._most(tiny(), {"mnist": images}) == 1  # on a CPU


def test_what_cannot_be(data: Path, tmp_path: Path):
    with pytest.raises(DatasetError, match="is not there"):
        study([tiny(), tiny(dataset="cifar10")], tmp_path / "out", data=data)
    assert not (tmp_path / "out").exists()
    (tmp_path / "file").write_text("x")
    with pytest.raises(RunError, match="cannot make"):
        study([tiny()], tmp_path / "file", data=data)
    assert study([], tmp_path / "none", data=data) == []
    assert torch.get_num_threads() >= 1
