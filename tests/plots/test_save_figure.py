"""Saving, and what plotting leaves alone."""

import os
import subprocess
import sys
from pathlib import Path

import matplotlib
import pytest
from matplotlib.figure import Figure

from pinnsig.plots import loss_figure, save_figure

ROOT = Path(__file__).parents[2]

SCRIPT = """
import sys
from pinnsig.plots import loss_figure, save_figure
line = {"phase": "start", "iteration": 0, "loss": 1.0, "terms": {"f": 1.0}}
save_figure(loss_figure([line]), sys.argv[1])
assert "matplotlib.pyplot" not in sys.modules
assert "tkinter" not in sys.modules
"""


def test_no_display_and_no_pyplot_are_needed(tmp_path: Path):
    target = tmp_path / "loss.png"
    environment = {name: value for name, value in os.environ.items() if name != "DISPLAY"}
    subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", SCRIPT, str(target)],
        env=environment | {"MPLBACKEND": "TkAgg"},
        cwd=ROOT,
        check=True,
    )
    assert target.read_bytes().startswith(b"\x89PNG")


def test_saving_makes_folders_and_leaves_one_file(tmp_path: Path):
    target = tmp_path / "a" / "b" / "figure.png"
    save_figure(Figure(figsize=(2, 1)), target)
    first = target.read_bytes()
    save_figure(Figure(figsize=(1, 1)), str(target))
    assert target.read_bytes() != first
    assert list(target.parent.iterdir()) == [target]


def test_the_resolution_is_150_dpi(tmp_path: Path):
    save_figure(Figure(figsize=(2, 1)), tmp_path / "figure.png")
    header = (tmp_path / "figure.png").read_bytes()[16:24]
    assert (int.from_bytes(header[:4]), int.from_bytes(header[4:])) == (300, 150)


@pytest.mark.parametrize(
    ("suffix", "start"), [("", b"\x89PNG"), (".pdf", b"%PDF"), (".svg", b"<?xml")]
)
def test_the_suffix_chooses_the_format(tmp_path: Path, suffix: str, start: bytes):
    save_figure(Figure(), tmp_path / f"figure{suffix}")
    assert (tmp_path / f"figure{suffix}").read_bytes().startswith(start)


def test_a_failed_save_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    target = tmp_path / "figure.png"
    target.write_bytes(b"old")

    def fail(figure: Figure, path: Path, **options: object) -> None:
        path.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(OSError, match="disk full"):
        save_figure(Figure(), target)
    assert list(tmp_path.iterdir()) == [target]
    assert target.read_bytes() == b"old"


def test_global_settings_stay(tmp_path: Path):
    def settings() -> dict[str, object]:
        # reading the backend would make matplotlib choose one
        return {k: matplotlib.rcParams[k] for k in matplotlib.rcParams if k != "backend"}

    before = settings()
    save_figure(loss_figure([]), tmp_path / "loss.png")
    assert settings() == before
