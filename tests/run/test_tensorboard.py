"""TensorBoard as a callback, read back by its own reader."""

import builtins
from pathlib import Path

import pytest

import pinnsig
from pinnsig.core.errors import SettingsError
from pinnsig.run.trackers import TensorBoard
from tests.conftest import SMALL, Cli

events = pytest.importorskip(
    "tensorboard.backend.event_processing.event_accumulator",
    reason="needs pip install 'pinnsig[tensorboard]'",
)


def scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    reader = events.EventAccumulator(str(folder))
    reader.Reload()
    return {
        tag: [(event.step, event.value) for event in reader.Scalars(tag)]
        for tag in reader.Tags()["scalars"]
    }


def test_every_iteration_is_there(solve: Cli):
    result = solve("burgers", "--tensorboard", "--error-every", 3, "--json").json()
    found = scalars(Path(result["run"]) / "tensorboard")
    assert {"loss", "best loss", "learning rate", "relative L2 error", "terms/residual"} <= set(
        found
    )
    assert [step for step, _ in found["loss"]] == list(range(7))
    assert found["loss"][-1][1] == pytest.approx(result["last_loss"], rel=1e-4)
    assert [step for step, _ in found["relative L2 error"]] == [0, 3, 6]


def test_learned_coefficients_are_there(solve: Cli):
    result = solve("inverse-heat", "--tensorboard", "--json").json()
    found = scalars(Path(result["run"]) / "tensorboard")["coefficients/k"]
    assert found[0] == (0, pytest.approx(0.1))
    assert len(found) == 7


def test_a_folder_of_ones_own(runs: Path, tmp_path: Path):
    folder = tmp_path / "board"
    pinnsig.solve("burgers", runs=runs, figures=False, callbacks=[TensorBoard(folder)], **SMALL)
    assert len(scalars(folder)["loss"]) == 7


def test_without_it_there_is_one_line_before_training(
    solve: Cli, runs: Path, monkeypatch: pytest.MonkeyPatch
):
    real = builtins.__import__

    def without(name, *arguments, **named):
        if name.startswith("torch.utils.tensorboard"):
            raise ImportError(name)
        return real(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    assert "pip install 'pinnsig[tensorboard]'" in solve("burgers", "--tensorboard").complaint()
    with pytest.raises(SettingsError, match="not installed"):
        TensorBoard()
    assert not runs.exists()
