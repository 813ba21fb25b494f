"""What only a process of its own shows: streams' encodings, no display, signals."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file

from tests.conftest import SMALL
from tests.processes import Place, wait_for

FLAGS = [f"--{name}={value}" for name, value in SMALL.items()]


def environment(**changes: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "MPLBACKEND")}
    return {**kept, "OMP_NUM_THREADS": "1", **changes}


def run(*arguments: str, **changes: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "pinnsig", *arguments]
    return subprocess.run(command, capture_output=True, env=environment(**changes), check=False)


@pytest.mark.slow
def test_a_windows_code_page_a_gui_backend_and_no_display(tmp_path: Path):
    problem = tmp_path / "greek.py"
    problem.write_text(
        "from pinnsig.problem import Box, Dirichlet, Problem\n\n"
        "class Greek(Problem):\n"
        "    '''ψ″ = φ, at 20 ℃'''\n"
        "    domain = Box(x=(0.0, 1.0), tau=(0.0, 1.0))\n"
        "    fields = ('ψ',)\n"
        "    def residual(self, ψ):\n"
        "        return ψ.xx - 1.0\n"
        "    def conditions(self):\n"
        "        yield Dirichlet(on='x', ψ=0.0)\n",
        encoding="utf-8",
    )
    runs = str(tmp_path / "runs")
    done = run(
        "solve", str(problem), "--runs", runs, *FLAGS, PYTHONIOENCODING="cp1252", MPLBACKEND="TkAgg"
    )
    assert done.returncode == 0, done.stderr
    (directory,) = Path(runs, "greek").iterdir()
    assert {path.name for path in (directory / "figures").iterdir()} >= {
        "loss.png", "solution.png", "slices.png", "activations.png",
    }  # fmt: skip
    for path in (directory / "config.json", directory / "result.json"):
        json.loads(path.read_text(encoding="utf-8"))
    asked = run("predict", str(directory), "--at", "x=0", "tau=0", PYTHONIOENCODING="cp1252")
    assert asked.returncode == 0
    assert asked.stdout.splitlines()[0] == b"x,tau,?"


def test_bad_input_is_one_line_and_exit_2():
    done = run("solve", "nowhere.py")
    assert (done.returncode, done.stdout) == (2, b"")
    assert len(done.stderr.splitlines()) == 1
    assert b"Traceback" not in done.stderr


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path, finished: Path):
    points = tmp_path / "points.csv"
    rows = "".join(f"0.1,{i / 20000}\n" for i in range(20000))
    points.write_text("x,t\n" + rows, encoding="utf-8")
    command = [sys.executable, "-m", "pinnsig", "predict", str(finished), "--csv", str(points)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"x,t,u\n"
        process.stdout.close()
        assert process.stderr.read() == b""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("times", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_ctrl_c(tmp_path: Path, times: int):
    # the first signal lets it go on, unless there is to be a second, which ends it where it waits
    waits = "if" if times == 1 else "while"
    place = Place(tmp_path / "place")
    place.hold()
    problem = place.problem(f"{waits} self.is_training(): hold()")
    runs = tmp_path / "runs"
    arguments = ["solve", str(problem), "--runs", str(runs), *FLAGS, "--adam=1000", "--no-figures"]
    command = [sys.executable, "-m", "pinnsig", *arguments, "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as process:
        try:
            wait_for(lambda: place.holding() or process.poll() is not None)
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            told = b""
            if times == 2:  # signals that a process has not seen yet are not counted
                assert process.stderr is not None
                while b"Ctrl-C again" not in told:
                    told += os.read(process.stderr.fileno(), 1024)
                process.send_signal(signal.SIGINT)
            out, err = process.communicate()
            err = told + err
        finally:
            process.kill()
    assert process.returncode == 130
    assert b"Traceback" not in err
    assert b"Ctrl-C again" in err
    (directory,) = runs.glob("*/*")
    if times == 2:
        assert out == b""
        assert not (directory / "result.json").exists()
        return
    assert json.loads(out)["stop"] == "interrupted"
    assert (directory / "result.json").is_file()
    assert load_file(directory / "model.safetensors")
    assert load_file(directory / "last.safetensors")
