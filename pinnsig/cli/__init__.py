"""The command line: thin, it only calls the library."""

import contextlib
import io
import os
import sys
import traceback
from collections.abc import Sequence

import click
import torch

from pinnsig.cli.benching import bench
from pinnsig.cli.classifying import classify
from pinnsig.cli.completing import completion
from pinnsig.cli.describing import activations, check_activation, init, networks, problems
from pinnsig.cli.doctoring import doctor
from pinnsig.cli.examples import examples
from pinnsig.cli.exporting import export
from pinnsig.cli.plotting import plot
from pinnsig.cli.predicting import predict
from pinnsig.cli.reporting import report
from pinnsig.cli.reproducing import paper
from pinnsig.cli.showing import runs, show
from pinnsig.cli.signalling import signal
from pinnsig.cli.solving import resume, solve
from pinnsig.cli.starting import new
from pinnsig.cli.streams import Forgiving, keep_descriptors
from pinnsig.cli.sweeping import compare, sweep
from pinnsig.cli.tabulating import table
from pinnsig.cli.tuning import tune
from pinnsig.core.errors import PinnsigError, TrainingError, first_line
from pinnsig.core.paths import plain
from pinnsig.core.version import __version__

FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__)
@examples("pinnsig solve burgers --act tanh --scale 1.3", "pinnsig new heat.py")
def cli() -> None:
    """Physics-informed neural networks: PDEs, activations, initialisation."""


COMMANDS = (
    solve, resume, new, runs, show, plot, report, predict, export, sweep, tune, compare,
    problems, activations, networks, init, check_activation, bench, signal, paper, table,
    classify, doctor, completion,
)  # fmt: skip

for _command in COMMANDS:
    cli.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit.

    0: done. 1: trained, but to no finite end, or training failed; or what was asked for does not
    hold. 2: bad input. 130: interrupted (143: by SIGTERM). An error is one line on stderr;
    PINNSIG_DEBUG=1 shows where it was raised.
    """
    keep_descriptors()
    own = sys.stdout, sys.stderr
    for stream in own:
        if isinstance(stream, io.TextIOWrapper):  # a console that lacks a letter must not crash
            stream.reconfigure(errors="replace")
    forgiving = Forgiving(own[0]), Forgiving(own[1])
    sys.stdout, sys.stderr = forgiving  # type: ignore[assignment]
    try:
        code = _run(arguments)
        sys.stdout.flush()
        if (fault := forgiving[0].fault) is not None:
            code = _complain(f"cannot write the output: {fault.strerror}", fault, FAILED)
        sys.stderr.flush()
    finally:
        sys.stdout, sys.stderr = own
        for stream, kept in zip(own, forgiving, strict=True):
            if kept.silent and isinstance(stream, io.TextIOWrapper):
                _drop(stream)
    sys.exit(code)


def _run(arguments: Sequence[str] | None) -> int:
    """Run the command line; return its exit code."""
    try:
        return cli.main(arguments, prog_name="pinnsig", standalone_mode=False) or 0
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else "")
        return BAD_INPUT
    except click.ClickException as error:
        return _complain(error.format_message(), error)
    except TrainingError as error:
        return _complain(str(error), error, BAD_INPUT if error.path is None else FAILED)
    except PinnsigError as error:
        return _complain(str(error), error)
    except torch.OutOfMemoryError as error:
        return _complain(f"out of memory: {first_line(error)}", error)
    except (KeyboardInterrupt, click.Abort):
        click.echo("pinnsig: interrupted", err=True)
        return INTERRUPTED
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        return _complain(f"{error.strerror or error}{where}", error, FAILED)
    except Exception as error:  # a fault of this package
        text = f"unexpected {type(error).__name__}: {error} (PINNSIG_DEBUG=1 shows where)"
        return _complain(text, error, FAILED)


def _complain(message: str, error: BaseException, code: int = BAD_INPUT) -> int:
    if os.environ.get("PINNSIG_DEBUG"):
        traceback.print_exception(error)
    click.echo(f"pinnsig: error: {plain(' '.join(message.split()))}", err=True)
    return code


def _drop(stream: io.TextIOWrapper) -> None:
    """Let what a stream still holds go nowhere: the interpreter flushes it when it ends."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
