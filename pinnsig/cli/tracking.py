"""The option `--track` of commands that train."""

from collections.abc import Sequence

import click

from pinnsig.run.callbacks import Callback
from pinnsig.run.trackers import TRACKERS, parse_tracker

TENSORBOARD = "tensorboard"
TRACK = click.option(
    "--track",
    multiple=True,
    metavar="NAME[:KEY=VALUE]",
    help=f"log to {', '.join(TRACKERS)} as well, as in wandb:project=heat",
)


def trackers(names: Sequence[str]) -> list[Callback]:
    """Trackers by their names and options, each once.

    Raises:
        SettingsError: there is none of that name, or it is not installed.
    """
    return [parse_tracker(name) for name in dict.fromkeys(names)]
