"""`pinnsig solve` and `pinnsig resume`."""

import contextlib
import math
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from pinnsig.cli.classifying import resume_run
from pinnsig.cli.estimating import print_estimate
from pinnsig.cli.examples import examples
from pinnsig.cli.header import header
from pinnsig.cli.merging import flags_over_file
from pinnsig.cli.options import FOLDER, PATH, setting_options
from pinnsig.cli.output import print_json, print_pairs
from pinnsig.cli.progress import progress
from pinnsig.cli.showing import print_coefficients
from pinnsig.cli.tracking import TENSORBOARD, TRACK, trackers
from pinnsig.cli.trusting import TRUST, tell, trusting
from pinnsig.core.errors import RankError
from pinnsig.core.paths import plain
from pinnsig.problem import Problem
from pinnsig.run.building import RunComponents
from pinnsig.run.callbacks import Callback
from pinnsig.run.directory import RunDirectory
from pinnsig.run.following import follow
from pinnsig.run.processes import follows, joined
from pinnsig.run.results import SUMMARY
from pinnsig.run.settings import read_config
from pinnsig.run.solver import Result
from pinnsig.run.solver import resume as run_resume
from pinnsig.run.solver import solve as run_solve
from pinnsig.run.source import problem_of_config, require_trust
from pinnsig.training import FINISHED, INTERRUPTED, NON_FINITE, PhaseReport

NOT_FINITE = 1  # exit code


def running_options(command: Any) -> Any:
    """The options of every command that trains."""
    for option in (
        click.option("--quiet", is_flag=True, help="show no progress"),
        click.option("--json", "as_json", is_flag=True, help="print the result on stdout as JSON"),
        TRACK,
        click.option("--tensorboard", is_flag=True, help="the same as --track tensorboard"),
        click.option("--no-figures", is_flag=True, help="draw no figures"),
        click.option(
            "--keep-checkpoint",
            is_flag=True,
            help="keep all of a large checkpoint when done, for an exact resume",
        ),
        click.option(
            "--devices",
            type=int,
            default=1,
            metavar="N",
            help="share the points between N processes of this machine, one for each GPU or with "
            "equal parts of the cores  [1]",
        ),
    ):
        command = option(command)
    return command


@click.command()
@click.argument("problem", required=False)
@setting_options()
@click.option("--config", type=PATH, help="settings from a TOML or JSON file")
@click.option("--runs", default="runs", metavar="DIR", help="where run directories go  [runs]")
@click.option("--path", type=FOLDER, metavar="DIR", help="the run directory itself, new or empty")
@running_options
@click.option("--dry-run", is_flag=True, help="say what would be trained and take, train nothing")
@TRUST
@click.pass_context
@examples(
    "pinnsig solve burgers --act tanh --scale 1.3",
    "pinnsig solve heat.py --set k=0.2 --preset accurate",
)
def solve(
    context: click.Context,
    problem: str | None,
    config: Path | None,
    runs: str,
    path: Path | None,
    no_figures: bool,
    keep_checkpoint: bool,
    devices: int,
    track: tuple[str, ...],
    tensorboard: bool,
    as_json: bool,
    quiet: bool,
    dry_run: bool,
    trust: bool,
    **flags: Any,
) -> None:
    """Train a network on a PDE.

    PROBLEM is a registered name (see `pinnsig problems`), or a file such as my_pde.py or
    my_pde.py:Heat. Flags go before --config, and both before the preset.

    Exit code 0: done; 1: training failed, or came to no finite end; 2: bad input, nothing was
    trained; 130: interrupted.
    """
    if follows():
        follow_quietly(context)
        return
    given = flags_over_file(read_config(config) if config else {}, flags, config)
    named: str | type[Problem] | None = problem or given.get("problem")
    if config and not problem and named:
        own = problem_of_config(config, str(named), trusting(trust))
        tell(own.notices if own else ())
        named = own.problem_type if own else named
    named_trackers = trackers([*track, *([TENSORBOARD] if tensorboard else [])])
    if named is None:
        raise click.UsageError("name a problem, such as burgers (see `pinnsig problems`)")
    given.pop("problem", None)
    if dry_run:
        print_estimate(named, given, as_json)
        return

    def work(callbacks: list[Callback]) -> Result:
        return run_solve(
            named, runs=runs, path=path, figures=not no_figures, callbacks=callbacks,
            keep_checkpoint=keep_checkpoint, devices=devices, **given,
        )  # fmt: skip

    _run(context, work, "preset" in given, named_trackers, as_json, quiet)


@click.command()
@click.argument("run", type=PATH)
@setting_options()
@running_options
@TRUST
@click.pass_context
@examples(
    "pinnsig resume runs/burgers/20260131-120000-1a2b3c",
    "pinnsig resume RUN --broyden 8000",
)
def resume(
    context: click.Context,
    run: Path,
    no_figures: bool,
    keep_checkpoint: bool,
    devices: int,
    track: tuple[str, ...],
    tensorboard: bool,
    as_json: bool,
    quiet: bool,
    trust: bool,
    **changes: Any,
) -> None:
    """Go on with a run from its checkpoint.

    RUN is its directory, wherever it is now. More iterations (of its last phase: --adam, --lbfgs
    or --broyden) make a run longer that has come to its end, --phase adds one, and limits, device,
    logging and saving may change; what the weights and points were made with may not. A run of
    `classify` goes on as it is, to its last epoch.
    """
    if follows():
        follow_quietly(context)
        return
    names = [*track, *([TENSORBOARD] if tensorboard else [])]
    if RunDirectory.open(run).is_classifier():
        changed = [name for name, value in changes.items() if value is not None]
        if changed or names:
            raise click.UsageError("a run of classify goes on as it is, without other options")
        resume_run(context, run, as_json, quiet)
        return

    require_trust(run, trusting(trust))  # a question cannot be asked below a live display

    def work(callbacks: list[Callback]) -> Result:
        return run_resume(
            run, figures=not no_figures, callbacks=callbacks, keep_checkpoint=keep_checkpoint,
            devices=devices, **changes,
        )  # fmt: skip

    _run(context, work, True, trackers(names), as_json, quiet)


def follow_quietly(context: click.Context) -> None:
    """Be one of torchrun's processes that only answer rank 0, which says all there is to say."""
    try:
        with joined(1) as ranks:
            follow(ranks)
    except RankError:
        context.exit(NOT_FINITE)


def _run(
    context: click.Context,
    work: Callable[[list[Callback]], Result],
    chosen: bool,
    tracking: Sequence[Callback],
    as_json: bool,
    quiet: bool,
) -> None:
    with progress(quiet) as shown:
        talk = _Talk(chosen, quiet)
        result = work([talk, shown, *tracking])
    if as_json:
        print_json(result.data)
    else:
        print_pairs(_summary(result.data))
        if result.data["coefficients"]:
            print_coefficients(result.data["coefficients"])
    if result.stop == INTERRUPTED:
        context.exit(128 + (talk.signal or signal.SIGINT))
    if not is_finite_end(result.data) or result.path != talk.path:
        context.exit(NOT_FINITE)


def is_finite_end(data: Mapping[str, Any]) -> bool:
    """Return whether a result has a loss that is a number, and training did not end without one."""
    loss = data["best_loss"]
    return data["stop"] != NON_FINITE and loss is not None and math.isfinite(loss)


def _summary(data: dict[str, Any]) -> dict[str, Any]:
    """What is printed of a result: the error, or its estimate where there is no reference."""
    without = "estimated_error" if data["relative_l2"] is not None else "relative_l2"
    names = [name for name in (*SUMMARY, "run") if name != without]
    return {name: data[name] for name in names}


class _Talk(Callback):
    """Says on stderr what is trained, and what a user should know."""

    optional = True

    def __init__(self, chosen: bool, quiet: bool) -> None:
        self.chosen = chosen
        self.quiet = quiet
        self.signal: int | None = None
        self.path: Path | None = None

    def started(self, parts: RunComponents, path: Path) -> None:
        """See `Callback.started`."""
        self.path = path
        if not self.quiet:
            for line in (*header(parts, self.chosen).split("\n"), f"run {path}"):
                click.echo(plain(line), err=True)
        for notice in parts.notices:
            self.noticed(notice)

    def noticed(self, text: str) -> None:
        """See `Watcher.noticed`."""
        tell([text])

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
        with contextlib.suppress(OSError):
            os.write(2, b"\nfinishing this step, then saving; Ctrl-C again to stop at once\n")

    def finished(self, result: Result) -> None:
        """See `Callback.finished`."""
        for doubt in result.suspicious:
            self.noticed(f"suspicious: {doubt}")
        if result.stop == INTERRUPTED and not self.quiet:
            click.echo(f"go on with: pinnsig resume {result.path}", err=True)
