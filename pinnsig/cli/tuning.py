"""`pinnsig tune`."""

import signal
from pathlib import Path
from typing import Any

import click

from pinnsig.cli.examples import examples
from pinnsig.cli.executing import chosen_executor, executor_options
from pinnsig.cli.merging import flags_over_file
from pinnsig.cli.options import PATH, setting_options
from pinnsig.cli.output import number, print_json, print_table
from pinnsig.cli.tracking import TRACK, trackers
from pinnsig.cli.trusting import tell
from pinnsig.run.settings import read_config
from pinnsig.tuning import OBJECTIVES, PRUNERS, Trial, Tuned, TuningWatcher, plan_tuning
from pinnsig.tuning import tune as run_tune

SHOWN = 10  # trials in the table
NOTHING = 1  # exit code


@click.command()
@click.argument("problem")
@click.option("--search", multiple=True, metavar="NAME=VALUES",
              help="what is searched: lr=1e-4:1e-2:log, depth=3:8, act=tanh,erf, set.nu=0.01:0.1; "
              "as often as there are settings")  # fmt: skip
@click.option("--trials", default=50, metavar="N", help="runs in all  [50]")
@click.option("--objective", default="residual", metavar="NAME",
              help=f"what is made small: {', '.join(OBJECTIVES)}  [residual]")  # fmt: skip
@click.option("--pruner", default="median", metavar="NAME",
              help=f"ends trials that fall behind: {', '.join(PRUNERS)}  [median]")  # fmt: skip
@click.option("--prune-every", default=50, metavar="N", help="iterations between its looks  [50]")
@click.option("--search-seed", default=0, metavar="N", help="of the search  [0]")
@setting_options()
@click.option("--config", type=PATH, help="settings of all trials from a TOML or JSON file")
@click.option("--out", metavar="DIR", help="the search's directory  [RUNS/tuning/PROBLEM]")
@click.option("--runs", default="runs", metavar="DIR", help="where that one goes  [runs]")
@executor_options
@TRACK
@click.option("--dry-run", is_flag=True, help="print what would be searched, run nothing")
@click.option("--json", "as_json", is_flag=True, help="print the trials as JSON")
@click.option("--quiet", is_flag=True, help="show no progress")
@click.pass_context
@examples(
    "pinnsig tune heat --search lr=1e-4:1e-2:log --search depth=2:6 --trials 20 --max-seconds 20",
    "pinnsig tune burgers --search act=tanh,erf,gd --search scale=0.5:2 --workers 2",
)
def tune(
    context: click.Context,
    problem: str,
    search: tuple[str, ...],
    trials: int,
    track: tuple[str, ...],
    search_seed: int,
    config: Path | None,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
    objective: str,
    pruner: str,
    prune_every: int,
    out: str | None,
    runs: str,
    **flags: Any,
) -> None:
    """Search for settings with Optuna.

    Every trial is a run with a directory of its own. The same command again goes on where it was;
    more --trials make it longer. All other options are settings of all trials, as in `solve`. Needs
    `pip install 'pinnsig[tune]'`. Exit code 0: done; 1: no trial came to a finite end; 2: bad
    input; 130 or 143: stopped by Ctrl-C or SIGTERM.
    """
    axes: dict[str, str] = {}
    for text in search:
        name, equals, values = text.partition("=")
        if not (name.strip() and equals and values.strip()):
            raise click.UsageError(f"--search {text!r} is not NAME=VALUES")
        if name.strip() in axes:
            raise click.UsageError(f"--search {name.strip()} is given twice")
        axes[name.strip()] = values.strip()
    elsewhere = chosen_executor(flags)
    workers = flags.pop("workers") or 1
    given = flags_over_file(read_config(config) if config else {}, flags, config)
    given.pop("problem", None)
    how: dict[str, Any] = {
        "objective": objective, "pruner": pruner, "prune_every": prune_every, "seed": search_seed,
        "out": out, "runs": runs,
    }  # fmt: skip
    if "seed" in given:
        raise click.UsageError(
            f"--seed {given['seed']}: a search has --search-seed; take --search seed=0,1 for "
            "several starts"
        )
    if dry_run:
        spec, directory = plan_tuning(problem, axes, **how, **given)
        print_table(("searched", "values"), [(axis.name, axis.text) for axis in spec.axes])
        click.echo(f"\n{trials} trials in {directory.path}, by {objective}, pruner {pruner}")
        return
    talk = _Talk(quiet)
    found = run_tune(problem, axes, trials=trials, workers=workers, executor=elsewhere,
                     watcher=talk, callbacks=trackers(track), **how, **given)  # fmt: skip
    _print(found, as_json)
    if found.interrupted:
        context.exit(128 + (talk.signal or signal.SIGINT))
    context.exit(0 if found.best else NOTHING)


def _print(found: Tuned, as_json: bool) -> None:
    if as_json:
        best = found.best and found.best.number
        rows = [vars(trial) for trial in found.ranked]
        print_json(
            {"path": str(found.path), "best": best, "command": found.command, "trials": rows}
        )
        return
    names = [axis.name for axis in found.spec.axes]
    head = ("trial", "state", found.spec.objective, *names)
    print_table(head, [(t.number, t.state, t.value, *(t.settings.get(n) for n in names))
                       for t in found.ranked[:SHOWN]])  # fmt: skip
    states = [trial.state for trial in found.trials]
    counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    click.echo(f"\n{counts}; all of them in {found.path / 'tune.csv'}")
    if found.best:
        click.echo(f"best: {found.command}")


class _Talk(TuningWatcher):
    """Says on stderr how each trial ended."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.signal: int | None = None
        self.trials = 0

    def planned(self, found: Tuned, trials: int) -> None:
        """See `TuningWatcher.planned`."""
        self.trials = trials
        if found.trials and not self.quiet:
            click.echo(f"going on: {len(found.trials)} of {trials} trials are there", err=True)

    def ended(self, trial: Trial, found: Tuned, reason: str | None) -> None:
        """See `TuningWatcher.ended`."""
        if reason:
            tell([f"trial {trial.number} failed: {reason}"])
        if self.quiet:
            return
        settings = ", ".join(f"{name}={number(v)}" for name, v in trial.settings.items())
        best = "" if found.best is None else f"; best {number(found.best.value)}"
        said = number(trial.value) if trial.state == "done" else trial.state
        click.echo(f"{trial.number + 1}/{self.trials} {said} ({settings}){best}", err=True)

    def noticed(self, text: str) -> None:
        """See `TuningWatcher.noticed`."""
        if not self.quiet:
            tell([text])

    def interrupting(self, number: int) -> None:
        """See `TuningWatcher.interrupting`."""
        self.signal = number
