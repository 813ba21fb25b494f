"""What a newcomer reads: examples at the start of every help, and completion in a shell."""

import shlex
import shutil
import subprocess

import pytest

from pinnsig.cli import cli as group
from pinnsig.run.settings import PRESETS
from tests.conftest import Cli


def examples_of(text: str) -> list[str]:
    """Return the commands that a help text shows at its start."""
    block = text.partition("\b\n")[2].partition("\n\n")[0]
    return [line.strip() for line in block.splitlines()]


COMMANDS = {"pinnsig": group, **group.commands}
EXAMPLES = [(name, line) for name, c in COMMANDS.items() for line in examples_of(c.help or "")]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_starts_with_two_examples(name: str):
    assert len(examples_of(COMMANDS[name].help or "")) == 2


@pytest.mark.parametrize(("name", "line"), EXAMPLES)
def test_examples_are_commands_that_are_understood(name: str, line: str):
    program, command, *arguments = shlex.split(line.partition(" >")[0])
    assert program == "pinnsig"
    assert name in ("pinnsig", command)
    group.commands[command].make_context(command, arguments)  # raises where an option is not there


def test_alone_it_says_how_to_begin(cli: Cli):
    shown = cli()
    assert shown.code == 2
    assert "  pinnsig solve burgers --act tanh --scale 1.3\n    pinnsig new heat.py\n" in shown.out
    assert cli("solve", "--help").out.index("pinnsig solve") < 200


def test_examples_of_an_unmarked_text():
    assert examples_of("Does this.\n\nAnd that.") == []
    assert examples_of("Does this.\n\n\b\n  pinnsig a\n  pinnsig b\n\nMore.") == [
        "pinnsig a", "pinnsig b",
    ]  # fmt: skip


BASH = shutil.which("bash")


@pytest.mark.skipif(BASH is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["sol"], ["solve"]),
        (["solve", "burgers-"], ["burgers-2d", "burgers-mild"]),
        (["solve", "--act", "softsign"], ["softsign1", "softsign2", "softsign3"]),
        (["solve", "burgers", "--preset", ""], ["accurate", "paper", "quick"]),
        (["show", "--js"], ["--json"]),
    ],
)
def test_bash_completes(cli: Cli, words: list[str], offered: list[str]):
    script = cli("completion", "bash").out
    line = " ".join(shlex.quote(word) for word in ["pinnsig", *words])
    script += f'COMP_WORDS=({line}); COMP_CWORD={len(words)}; _pinnsig; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run([str(BASH), "--norc", "-c", script], capture_output=True, text=True)
    assert done.stderr == ""
    assert sorted(done.stdout.split()) == offered


def test_other_shells(cli: Cli):
    assert cli("completion", "zsh").out.startswith("autoload -U +X bashcompinit")
    fish = cli("completion", "fish").out
    assert "complete -c pinnsig -n '__fish_seen_subcommand_from solve' -a burgers\n" in fish
    assert f"-l preset -xa '{' '.join(PRESETS)}'\n" in fish
    assert "did you mean bash?" in cli("completion", "bsh").complaint()
