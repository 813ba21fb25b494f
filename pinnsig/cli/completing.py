"""`pinnsig completion`: a script that completes commands, options and names in a shell."""

import click

from pinnsig.activations import ACTIVATIONS
from pinnsig.cli.examples import examples
from pinnsig.core.registry import unknown
from pinnsig.networks import NETWORKS
from pinnsig.problem import problem_entries
from pinnsig.run.settings import PRESETS

BASH = """\
_pinnsig() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words
    if (( COMP_CWORD == 1 )); then
        words={commands!r}
    else
        case $before in
{values}
            *) case ${{COMP_WORDS[1]}} in
{options}
            esac ;;
        esac
    fi
    COMPREPLY=( $(compgen -W "$words" -- "$word") )
}}
complete -o bashdefault -o default -F _pinnsig pinnsig
"""


@click.command()
@click.argument("shell", metavar="SHELL")
@click.pass_context
@examples(
    "pinnsig completion bash >> ~/.bashrc",
    "pinnsig completion fish > ~/.config/fish/completions/pinnsig.fish",
)
def completion(context: click.Context, shell: str) -> None:
    """Print a script for completion in bash, zsh or fish.

    It holds the names of commands, options, problems, activations, networks and presets of this
    installation, so that nothing is run at a Tab; print it anew after installing another version.
    """
    if shell not in WRITERS:
        raise click.UsageError(unknown("shell", shell, WRITERS))
    group = context.find_root().command
    assert isinstance(group, click.Group)
    click.echo(WRITERS[shell](_options(group), _values()), nl=False)


def _options(group: click.Group) -> dict[str, list[str]]:
    """What may follow each command: its options, and problems where it takes one."""
    problems = list(problem_entries())
    return {
        name: [
            *(option for p in command.params for option in (*p.opts, *p.secondary_opts)
              if option.startswith("--")),
            "--help",
            *(problems if any(p.name == "problem" for p in command.params) else ()),
        ]
        for name, command in group.commands.items()
    }  # fmt: skip


def _values() -> dict[str, list[str]]:
    """What may follow some options."""
    return {"--act": list(ACTIVATIONS), "--network": list(NETWORKS), "--preset": list(PRESETS)}


def _bash(options: dict[str, list[str]], values: dict[str, list[str]]) -> str:
    def cases(words: dict[str, list[str]], indent: int) -> str:
        return "\n".join(
            f"{' ' * indent}{name}) words={' '.join(known)!r} ;;" for name, known in words.items()
        )

    return BASH.format(
        commands=" ".join(options), values=cases(values, 12), options=cases(options, 16)
    )


def _zsh(options: dict[str, list[str]], values: dict[str, list[str]]) -> str:
    return "autoload -U +X bashcompinit && bashcompinit\n" + _bash(options, values)


def _fish(options: dict[str, list[str]], values: dict[str, list[str]]) -> str:
    start = "complete -c pinnsig"
    lines = [f"{start} -n __fish_use_subcommand -f -a {' '.join(options)!r}"]
    for name, known in options.items():
        after = f"{start} -n '__fish_seen_subcommand_from {name}'"
        for word in known:
            if not word.startswith("--"):
                lines.append(f"{after} -a {word}")
            elif word in values:
                lines.append(f"{after} -l {word[2:]} -xa {' '.join(values[word])!r}")
            else:
                lines.append(f"{after} -l {word[2:]}")
    return "\n".join(lines) + "\n"


WRITERS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
"""What writes the script of each shell."""
