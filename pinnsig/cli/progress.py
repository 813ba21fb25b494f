"""Progress of training on stderr: a bar on a terminal, plain lines elsewhere."""

import sys
from collections.abc import Iterable

import click
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from pinnsig.cli.display import Display
from pinnsig.run.callbacks import Callback
from pinnsig.training import Record

LINES_PER_PHASE = 10


class Silent(Display, Callback):
    """Shows nothing."""

    optional = True


class Lines(Silent):
    """A line at the start, about every tenth of a phase, and at its end."""

    def recorded(self, record: Record) -> None:
        """Print a line if it is time for one."""
        every = max(record.total // LINES_PER_PHASE, 1)
        if record.iteration % every == 0 or record.iteration == record.total:
            count = f" {record.iteration}/{record.total}" if record.total else ""
            click.echo(
                f"{record.phase}{count}  loss {record.loss:.4e}  "
                f"best {record.best_loss:.4e}  {_details(record)}  {record.seconds:.1f} s",
                err=True,
            )


class _Progress(Progress):
    """Progress bars with one line of text below them."""

    line = ""

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        yield Text(self.line, no_wrap=True, overflow="ellipsis")


class Bar(Silent):
    """A live bar for each phase: iteration, loss, best, time left; the terms on a line below."""

    def __init__(self) -> None:
        # no wider than a terminal of 80 columns, where rich would cut every column
        self.live = self.progress = _Progress(
            TextColumn("{task.description:<5}"),
            BarColumn(bar_width=20),
            TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            TextColumn("{task.fields[text]}"),
            TimeRemainingColumn(compact=True),
            console=Console(stderr=True),
        )
        self.tasks: dict[int, TaskID] = {}

    def recorded(self, record: Record) -> None:
        """Move the bar of the record's phase."""
        self.progress.line = _details(record)
        if not record.number:
            return
        text = f"loss {record.loss:.3e}  best {record.best_loss:.3e}"
        if record.number not in self.tasks:
            task = self.progress.add_task(record.phase, total=record.total, text=text)
            self.tasks[record.number] = task
        self.progress.update(self.tasks[record.number], completed=record.iteration, text=text)


def progress(quiet: bool) -> Silent:
    """What suits stderr."""
    if quiet:
        return Silent()
    return Bar() if sys.stderr.isatty() else Lines()


def _details(record: Record) -> str:
    """Every term, learned coefficients, and the error where it was measured."""
    terms = [f"{name} {value:.2e}" for name, value in record.terms.items()]
    terms += [f"{name} = {value:.6g}" for name, value in (record.coefficients or {}).items()]
    if record.relative_l2 is not None:
        terms.append(f"relative L2 {record.relative_l2:.2e}")
    return "  ".join(terms)
