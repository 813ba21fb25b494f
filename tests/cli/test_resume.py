"""`pinnsig resume`: what it prints, its exit codes, and what it refuses."""

import os
import signal
from pathlib import Path

import pytest

from pinnsig.cli import progress, solving
from tests.conftest import Cli


class Presser(progress.Silent):
    """Sends a signal after the second iteration of Adam."""

    number: int = signal.SIGINT

    def recorded(self, record) -> None:
        if (record.phase, record.iteration) == ("adam", 2):
            os.kill(os.getpid(), self.number)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_says_how_to_go_on_and_tells_by_its_exit_code(
    solve: Cli, cli: Cli, runs: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: int
):
    presser = Presser()
    presser.number = number
    with monkeypatch.context() as patched:
        patched.setattr(solving, "progress", lambda quiet: presser)
        outcome = solve("burgers")
    assert outcome.code == code
    (run,) = runs.glob("*/*")
    assert f"go on with: pinnsig resume {run}" in outcome.err
    resumed = cli("resume", run, "--no-figures", "--json")
    result = resumed.json()
    assert (result["stop"], result["iterations"], result["resumed"]) == ("iterations done", 6, 1)
    assert "adam 3/3" in resumed.err
    assert "\nstart" not in resumed.err


def test_more_iterations_and_another_phase(solve: Cli, cli: Cli):
    run = solve("burgers", "--json").json()["run"]
    assert cli("resume", run, "--lbfgs", 5, "--no-figures", "--json").json()["iterations"] == 8
    flags = ("--phase", "lbfgs:2,dtype=float64", "--no-figures", "--json")
    assert cli("resume", run, *flags).json()["iterations"] == 10


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ((), ["nothing left to do", "lbfgs ended after 3 iterations (iterations done)"]),
        (("--depth", "4"), ["depth = 4 cannot change", "depth = 2"]),
        (("--act", "erf"), ["act = erf cannot change"]),
        (("--adam", "9"), ["adam = 9 cannot change: that phase is over", "--phase adam:9"]),
        (("--lbfgs", "2"), ["lbfgs = 2 cannot be: 3 iterations are done"]),
        (("--device", "tpu"), ["device 'tpu' is unknown"]),
        (("--phase", "lbfg:3"), ["did you mean lbfgs"]),
    ],
)
def test_what_cannot_be_is_one_line_and_changes_nothing(
    solve: Cli, cli: Cli, flags: tuple[str, ...], words: list[str]
):
    run = Path(solve("burgers", "--json").json()["run"])
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    complaint = cli("resume", run, *flags).complaint()
    for word in words:
        assert word in complaint
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


def test_no_run_is_said(cli: Cli, tmp_path: Path):
    assert "is no run directory" in cli("resume", tmp_path / "nowhere").complaint()


def test_an_answer_that_looks_wrong_is_said(solve: Cli, heat: Path):
    text = heat.read_text(encoding="utf-8") + (
        "\n    def ansatz(self, n, x, t):\n        return 1e-9 * n\n"
    )
    heat.write_text(text, encoding="utf-8")
    outcome = solve(heat, "--scaling", "none")  # which would make up for the factor
    assert outcome.code == 0
    assert "notice: suspicious: u is nearly constant" in outcome.err
