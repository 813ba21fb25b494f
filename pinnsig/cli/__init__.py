"""The command line: thin, it only calls the library."""

import io
import sys
from collections.abc import Sequence

import click
import torch

from pinnsig.cli.benching import bench
from pinnsig.cli.classifying import classify
from pinnsig.cli.describing import activations, check_activation, init, problems
from pinnsig.cli.finished import plot, predict, show
from pinnsig.cli.papering import paper
from pinnsig.cli.signalling import signal
from pinnsig.cli.solving import resume, solve
from pinnsig.cli.sweeping import compare, sweep
from pinnsig.errors import PinnsigError

BAD_INPUT = 2
INTERRUPTED = 130


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="pinnsig")
def cli() -> None:
    """Physics-informed neural networks for odd-sigmoid activations.

    Start with:  pinnsig solve burgers --act tanh --scale 1.3
    """


COMMANDS = (
    solve, resume, show, plot, predict, sweep, compare, problems, activations, init,
    check_activation, bench, signal, paper,
    classify,
)  # fmt: skip

for _command in COMMANDS:
    cli.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 2 bad input (one line on stderr), 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a console that lacks a letter must not crash
            stream.reconfigure(errors="replace")
    try:
        code = cli.main(arguments, prog_name="pinnsig", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else "")
        code = BAD_INPUT
    except click.ClickException as error:
        code = _complain(error.format_message())
    except PinnsigError as error:
        code = _complain(str(error))
    except torch.OutOfMemoryError as error:
        code = _complain(f"out of memory: {str(error).splitlines()[0]}")
    except (KeyboardInterrupt, click.Abort):
        click.echo("pinnsig: interrupted", err=True)
        code = INTERRUPTED
    sys.exit(code or 0)


def _complain(message: str) -> int:
    click.echo(f"pinnsig: error: {' '.join(message.split())}", err=True)
    return BAD_INPUT
