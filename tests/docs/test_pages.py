"""What the pages of the site and the README show runs as it stands there, with small networks."""

import shlex
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import pinnsig
from tests.conftest import Cli
from tests.docs.pages import Block, blocks, page_name, written_pages

SMALL: dict[str, Any] = {
    "depth": 2,
    "width": 8,
    "collocation": 40,
    "initial": 8,
    "boundary": 8,
    "max_seconds": 0.1,
}
FLAGS = [f"--{name.replace('_', '-')}={value}" for name, value in SMALL.items()]
ADDED = {
    "solve": [*FLAGS, "--no-figures"],
    "sweep": FLAGS,
    "resume": ["--max-seconds=0.2", "--no-figures"],
}
"""What commands are given beside what a page says."""

SETTING_UP = ("make ", "pip ", "git ")
"""Lines that only a shell can run."""

PAGES = [
    page for page in written_pages() if any(b.language in ("python", "bash") for b in blocks(page))
]


def small(function: Any, **given: Any) -> Any:
    """The function with small networks, and with the other arguments unless they are given."""

    def call(*arguments: Any, **own: Any) -> Any:
        return function(*arguments, **{**given, **own, **SMALL})

    return call


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ModuleType]:
    """A module in which a page's code runs, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    resume = pinnsig.resume
    monkeypatch.setattr(pinnsig, "solve", small(pinnsig.solve, figures=False))
    monkeypatch.setattr(pinnsig, "sweep", small(pinnsig.sweep, figures=False))
    monkeypatch.setattr(
        pinnsig, "resume", lambda *a, **k: resume(*a, figures=False, **{**k, "max_seconds": 0.2})
    )
    before = set(sys.modules)
    page = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", page)
    yield page
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_blocks_run(page: Path, module: ModuleType, cli: Cli):
    for block in blocks(page):
        place = f"{page_name(page)}:{block.line}"
        if block.language == "python":
            code = compile(textwrap.dedent(block.text), place, "exec")
            if block.file:
                Path(block.file).write_text(block.text, encoding="utf-8")
            elif not block.left_out:
                exec(code, vars(module))
        elif block.language == "bash" and not block.left_out:
            run_commands(block, place, cli)


def run_commands(block: Block, place: str, cli: Cli) -> None:
    """Run the lines of a block that are commands of this package."""
    for line in block.text.replace("\\\n", " ").splitlines():
        if not line.strip() or line.startswith(SETTING_UP):
            continue
        words = shlex.split(line, comments=True)
        assert words[0] == "pinnsig", f"{place}: {line}"
        words = [
            word.replace("RUN", str(latest_run())) if "RUN" in word else word for word in words
        ]
        outcome = cli(*words[1:], *ADDED.get(words[1], ()))
        assert outcome.code == 0, f"{place}: {line}\n{outcome.err}"


def latest_run() -> Path:
    """Return the run that was begun last."""
    runs = Path("runs").glob("*/*/config.json")
    return max(runs, key=lambda path: path.stat().st_mtime).parent
