"""Fixtures of many tests: the command line in process, and runs that take a tenth of a second."""

import json
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

import pinnsig
from pinnsig.cli import main

# the nets of the tests are too small to share between threads
torch.set_num_threads(1)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in a shell's background job
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def threads_stay() -> Iterator[None]:
    """A test that sets the number of threads leaves the others theirs."""
    before = torch.get_num_threads()
    yield
    if torch.get_num_threads() != before:
        torch.set_num_threads(before)


@pytest.fixture(scope="session", autouse=True)
def own_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What runs note of this user goes to a directory of the tests, also from other processes."""
    with pytest.MonkeyPatch.context() as patched:
        folder = tmp_path_factory.mktemp("data-home")
        patched.setenv("XDG_DATA_HOME", str(folder))
        yield folder


SMALL: dict[str, Any] = {
    "depth": 2,
    "width": 8,
    "collocation": 40,
    "initial": 8,
    "boundary": 8,
    "adam": 3,
    "lbfgs": 3,
}

HEAT = '''
import math
import torch
from pinnsig.problem import Box, Coefficient, Dirichlet, Initial, Problem

class Heat(Problem):
    """Heat equation u_t = k u_xx."""

    domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))
    k = Coefficient(0.1, above=0.0)

    def residual(self, u):
        return u.t - self.k * u.xx

    def conditions(self):
        yield Initial(u=lambda x: torch.sin(math.pi * x))
        yield Dirichlet(on="x", u=0.0)

    def solution(self, x, t):
        return torch.exp(-self.k * math.pi**2 * t) * torch.sin(math.pi * x)
'''


def strict_json(text: str) -> Any:
    """Parse JSON; NaN and Infinity, which are not JSON, fail."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        assert self.code == 0, self.err
        return strict_json(self.out)

    def complaint(self) -> str:
        """The one line of an error: exit code 2, and nothing else printed."""
        assert self.code == 2
        assert self.out == ""
        assert self.err.startswith("pinnsig: error: ")
        assert self.err.count("\n") == 1
        assert self.err.endswith("\n")
        return self.err


Cli = Callable[..., Outcome]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Run a command in this process."""

    def call(*arguments: Any) -> Outcome:
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return Outcome(left.value.code, printed.out, printed.err)

    return call


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Where `solve` puts its runs; not made before there is one."""
    return tmp_path / "runs"


@pytest.fixture
def solve(cli: Cli, runs: Path) -> Cli:
    """`pinnsig solve` on a small network, without figures; flags given override."""
    flags = [text for name, value in SMALL.items() for text in (f"--{name}", value)]

    def call(*arguments: Any) -> Outcome:
        return cli("solve", *flags, "--no-figures", "--runs", runs, *arguments)

    return call


@pytest.fixture
def heat(tmp_path: Path) -> Path:
    """A user's own problem in a file."""
    path = tmp_path / "heat.py"
    path.write_text(HEAT, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of Burgers with its figures; not to be changed."""
    return pinnsig.solve("burgers", runs=tmp_path_factory.mktemp("finished"), **SMALL).path
