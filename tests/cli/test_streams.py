"""Streams that are closed, full, or read by nobody: words never fail a run."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import pinnsig
from pinnsig.run.state import run_state
from tests.cli.test_process import FLAGS, environment
from tests.conftest import Cli, strict_json

pytestmark = pytest.mark.skipif(os.name == "nt", reason="streams of POSIX")
COMMAND = [sys.executable, "-m", "pinnsig"]


def only(runs: Path) -> Path:
    (run,) = runs.glob("*/*")
    return run


def shell(text: str) -> subprocess.CompletedProcess[str]:
    """Run a line in which `pinnsig` stands for the command."""
    line = text.replace("pinnsig", " ".join(COMMAND))
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line], env=environment(), capture_output=True, text=True,
        check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    "streams", ["<&- >&- 2>&-", pytest.param("2>/dev/full", marks=pytest.mark.slow)]
)
def test_nowhere_to_say_it_the_run_is_as_any_other(tmp_path: Path, streams: str):
    done = shell(
        f"pinnsig solve burgers {' '.join(FLAGS)} --runs {tmp_path} --no-figures {streams}"
    )
    assert done.returncode == 0
    run = only(tmp_path)
    assert strict_json((run / "result.json").read_text())["stop"] == "iterations done"
    for path in run.iterdir():  # no word went into a file of the run's
        assert b"notice" not in path.read_bytes()
    assert pinnsig.load(run).settings.problem == "burgers"


def test_a_reader_of_the_output_that_leaves(finished: Path):
    done = shell(f"pinnsig show {finished} | head -n 1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("run ")


def test_output_that_does_not_fit_is_said(finished: Path):
    done = shell(f"pinnsig show {finished} --json > /dev/full")
    assert done.returncode == 1
    assert done.stderr == "pinnsig: error: cannot write the output: No space left on device\n"


SLOW = """
from pinnsig.problem import Box, Problem

class Slow(Problem):
    domain = Box(x=(0.0, 1.0))

    def residual(self, u):
        return u.x - 1.0
"""


def test_a_signal_to_a_run_whose_stderr_nobody_reads_saves_all(tmp_path: Path):
    problem, runs = tmp_path / "slow.py", tmp_path / "runs"
    problem.write_text(SLOW, encoding="utf-8")
    arguments = ["solve", str(problem), "--runs", str(runs), "--adam=1000000", "--lbfgs=0"]
    flags = ["--depth=1", "--width=4", "--collocation=8", "--checkpoint-every=0", "--no-figures"]
    read, write = os.pipe()
    with subprocess.Popen([*COMMAND, *arguments, *flags], stderr=write, env=environment()) as child:
        try:
            os.close(write)
            heard = b""
            while b"adam" not in heard.partition(b"\nrun ")[2]:  # it trains
                heard += os.read(read, 4096)
                if list(runs.glob("*/*/metrics.jsonl")):
                    break
            os.close(read)  # from here on a word is an error
            child.terminate()
            child.wait(timeout=60)
        finally:
            child.kill()
    assert child.returncode == 128 + signal.SIGTERM
    run = only(runs)
    state = run_state(run)
    assert state.name == "interrupted"
    assert state.result is not None
    assert state.result["stop"] == "interrupted"
    assert pinnsig.resume(run, max_seconds=1e-6, figures=False).resumed == 1


@pytest.mark.parametrize("debug", ["", "1"])
def test_a_fault_of_our_own_is_one_line_and_the_trace_on_request(
    cli: Cli, finished: Path, monkeypatch: pytest.MonkeyPatch, debug: str
):
    def fail(path: Path) -> None:
        raise KeyError("lost")

    monkeypatch.setattr("pinnsig.cli.showing.run_state", fail)
    monkeypatch.setenv("PINNSIG_DEBUG", debug)
    done = cli("show", finished)
    assert done.code == 1
    assert ("Traceback" in done.err) == bool(debug)
    assert done.err.splitlines()[-1].startswith("pinnsig: error: unexpected KeyError: 'lost'")


@pytest.mark.parametrize(
    ("named", "stays"),
    [("nonsense", "agg"), pytest.param("svg", "svg", marks=pytest.mark.slow)],
)
def test_any_backend_may_be_named(tmp_path: Path, named: str, stays: str):
    """One that matplotlib does not know is no matter; another one stays in force."""
    code = (
        "import pinnsig, matplotlib, os\n"
        "from pinnsig.plots import loss_figure, save_figure\n"
        f"save_figure(loss_figure([]), {str(tmp_path / 'loss.png')!r})\n"
        "print(matplotlib.get_backend(), os.environ['MPLBACKEND'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(MPLBACKEND=named), capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.stdout.split() == [stays, named], done.stderr
    assert (tmp_path / "loss.png").is_file()
