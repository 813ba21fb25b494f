"""`pinnsig solve` and `pinnsig resume`."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from pinnsig.building import Parts
from pinnsig.callbacks import Callback
from pinnsig.classify import is_classifier
from pinnsig.cli.classifying import resume_run
from pinnsig.cli.options import setting_options
from pinnsig.cli.output import print_json, print_pairs
from pinnsig.cli.progress import progress
from pinnsig.runs import RunDirectory
from pinnsig.settings import PRESETS, PURPOSES, read_config
from pinnsig.solver import Result
from pinnsig.solver import resume as run_resume
from pinnsig.solver import solve as run_solve
from pinnsig.tensorboard import TensorBoard
from pinnsig.training import FINISHED, INTERRUPTED, PhaseReport

SUMMARY = (
    "best_loss", "last_loss", "relative_l2", "estimated_error", "max_error", "seconds",
    "iterations", "evaluations", "stop", "run",
)  # fmt: skip


def running_options(command: Any) -> Any:
    """The options of every command that trains."""
    for option in (
        click.option("--quiet", is_flag=True, help="show no progress"),
        click.option("--json", "as_json", is_flag=True, help="print the result on stdout as JSON"),
        click.option("--tensorboard", is_flag=True, help="write to RUN/tensorboard as well"),
        click.option("--no-figures", is_flag=True, help="draw no figures"),
    ):
        command = option(command)
    return command


@click.command()
@click.argument("problem", required=False)
@setting_options()
@click.option("--config", type=click.Path(path_type=Path), help="settings from a TOML or JSON file")
@click.option("--runs", default="runs", metavar="DIR", help="where run directories go  [runs]")
@running_options
@click.pass_context
def solve(
    context: click.Context,
    problem: str | None,
    config: Path | None,
    runs: str,
    no_figures: bool,
    tensorboard: bool,
    as_json: bool,
    quiet: bool,
    **flags: Any,
) -> None:
    """Train a network on a PDE.

    PROBLEM is a registered name (see `pinnsig problems`), or a file such as my_pde.py or
    my_pde.py:Heat. Flags go before --config, and both before the preset.
    """
    given = read_config(config) if config else {}
    for name, value in flags.items():
        if isinstance(value, dict):
            given[name] = {**given.get(name, {}), **value}
        elif value is not None:
            given[name] = value
    named = problem or given.pop("problem", None)
    if named is None:
        raise click.UsageError("name a problem, such as burgers (see `pinnsig problems`)")
    given.pop("problem", None)

    def work(callbacks: list[Callback]) -> Result:
        return run_solve(named, runs=runs, figures=not no_figures, callbacks=callbacks, **given)

    _run(context, work, "preset" in given, tensorboard, as_json, quiet)


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@setting_options()
@running_options
@click.pass_context
def resume(
    context: click.Context,
    run: Path,
    no_figures: bool,
    tensorboard: bool,
    as_json: bool,
    quiet: bool,
    **changes: Any,
) -> None:
    """Go on with a run from its checkpoint.

    RUN is its directory, wherever it is now. More iterations (of its last phase: --adam, --lbfgs
    or --broyden) make a run longer that has come to its end, --phase adds one, and limits, device,
    logging and saving may change; what the weights and points were made with may not. A run of
    `classify` goes on as it is, to its last epoch.
    """
    if is_classifier(RunDirectory.open(run)):
        changed = [name for name, value in changes.items() if value is not None]
        if changed or tensorboard:
            raise click.UsageError("a run of classify goes on as it is, without other options")
        resume_run(context, run, as_json, quiet)
        return

    def work(callbacks: list[Callback]) -> Result:
        return run_resume(run, figures=not no_figures, callbacks=callbacks, **changes)

    _run(context, work, True, tensorboard, as_json, quiet)


def _run(
    context: click.Context,
    work: Callable[[list[Callback]], Result],
    chosen: bool,
    tensorboard: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    with progress(quiet) as shown:
        talk = _Talk(chosen, quiet)
        result = work([talk, shown, *([TensorBoard()] if tensorboard else [])])
    if as_json:
        print_json(result.data)
    else:
        print_pairs(_summary(result.data))
    if result.stop == INTERRUPTED:
        context.exit(128 + (talk.signal or signal.SIGINT))


def _summary(data: dict[str, Any]) -> dict[str, Any]:
    """What is printed of a result: the error, or its estimate where there is no reference."""
    without = "estimated_error" if data["relative_l2"] is not None else "relative_l2"
    names = [name for name in SUMMARY if name != without]
    return {name: data[name] for name in names}


class _Talk(Callback):
    """Says on stderr what is trained, and what a user should know."""

    def __init__(self, chosen: bool, quiet: bool) -> None:
        self.chosen = chosen
        self.quiet = quiet
        self.signal: int | None = None

    def started(self, parts: Parts, path: Path) -> None:
        """See `Callback.started`."""
        if not self.quiet:
            click.echo(header(parts, self.chosen), err=True)
            click.echo(f"run {path}", err=True)
        for notice in parts.notices:
            self.noticed(notice)

    def noticed(self, text: str) -> None:
        """See `Watcher.noticed`."""
        click.echo(f"notice: {text}", err=True)

    def phase_ended(self, report: PhaseReport) -> None:
        """See `Watcher.phase_ended`."""
        if report.stop == FINISHED or (self.quiet and not report.advice):
            return
        advice = f"; {report.advice}" if report.advice else ""
        self.noticed(
            f"{report.name} stopped at iteration {report.iterations}: {report.stop}{advice}"
        )

    def interrupting(self, number: int) -> None:
        """See `Callback.interrupting`."""
        self.signal = number
        # within a signal handler a buffered stream may be busy: write past it
        os.write(2, b"\nfinishing this step, then saving; Ctrl-C again to stop at once\n")

    def finished(self, result: Result) -> None:
        """See `Callback.finished`."""
        for doubt in result.suspicious:
            self.noticed(f"suspicious: {doubt}")
        if result.stop == INTERRUPTED and not self.quiet:
            click.echo(f"go on with: pinnsig resume {result.path}", err=True)


def header(parts: Parts, chosen: bool) -> str:
    """What is about to be trained, and why with this preset."""
    s = parts.settings
    why = "as asked" if chosen else "the default"
    others = ", ".join(f"--preset {name}" for name in PRESETS if name != s.preset)
    phases = ", ".join(f"{phase.optimizer} {phase.iterations}" for phase in s.phase_list())
    more = [f"points {s.collocation} + {s.initial} + {s.boundary}", f"learning rate {s.lr:.3g}"]
    if s.weighting != "none":
        more.append(f"terms weighted by {s.weighting}")
    if parts.problem.hard:
        more.append("conditions met exactly")
    if parts.problem.scaled_inputs:
        more.append("inputs on [-1, 1]")
    if s.max_seconds is not None:
        more.append(f"at most {s.max_seconds:g} s")
    return (
        f"{s.problem}: {parts.activation.expression}, {parts.initializer.spec}, "
        f"{s.depth} x {s.width}, {s.dtype} on {s.device}\n"
        f"preset {s.preset} ({why}: {PURPOSES[s.preset]}; others: {others}): {phases}; "
        f"{', '.join(more)}"
    )
