"""The option `--track` of commands that train."""

from collections.abc import Sequence

import click

from pinnsig.run.callbacks import Callback
from pinnsig.run.trackers import TRACKERS

TENSORBOARD = "tensorboard"
TRACK = click.option(
    "--track", multiple=True, metavar="NAME", help=f"log to {', '.join(TRACKERS)} as well"
)


def trackers(names: Sequence[str]) -> list[Callback]:
    """Trackers by their names, each once.

    Raises:
        SettingsError: there is none of that name, or it is not installed.
    """
    return [TRACKERS.find(name)() for name in dict.fromkeys(names)]
