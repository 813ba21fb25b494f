"""`pinnsig sweep` and `pinnsig compare`."""

import signal
from pathlib import Path
from typing import Any

import click

from pinnsig.cli.examples import examples
from pinnsig.cli.executing import chosen_executor, executor_options
from pinnsig.cli.merging import flags_over_file
from pinnsig.cli.options import PATH, setting_options
from pinnsig.cli.output import print_json, print_table
from pinnsig.cli.sweep_progress import duration, sweep_progress
from pinnsig.cli.tracking import TRACK, trackers
from pinnsig.cli.trusting import TRUST, tell, trusting
from pinnsig.sweeps import (
    Batched,
    SweepDirectory,
    SweepTable,
    choose_executor,
    plan,
    read_sweep,
)
from pinnsig.sweeps import sweep as run_sweep
from pinnsig.sweeps.comparing import group_spreads, sign_tests
from pinnsig.sweeps.estimate import estimate
from pinnsig.sweeps.table import DONE

INCOMPLETE = 1
RUNNING = ("workers", "batch", "retry", "figures", "keep_checkpoints")
RESULTS = ("status", "best_loss", "relative_l2", "learned", "seconds", "stop")


@click.command()
@click.argument("problem", required=False)
@setting_options(several=True)
@click.option("--config", type=PATH, help="the sweep from a TOML file")
@click.option("--zip", "zipped", is_flag=False, flag_value="*", metavar="[NAMES]",
              help="pair the values of all settings, or of those named (scale,lr)")  # fmt: skip
@click.option("--out", metavar="DIR", help="the sweep directory  [RUNS/sweeps/..., by settings]")
@click.option("--runs", metavar="DIR", help="where sweep directories go  [runs]")
@executor_options
@click.option("--batch", metavar="auto|N|off",
              help="train N runs at once in batches, which fills a GPU  [auto]")  # fmt: skip
@click.option("--retry", type=click.IntRange(0), help="how often a failed run is tried again  [1]")
@click.option("--figures", is_flag=True, default=None, help="draw the figures of each run")
@click.option("--keep-checkpoints", is_flag=True, default=None,
              help="keep what `resume` needs of finished runs (up to 160 MB each)")  # fmt: skip
@TRACK
@click.option("--dry-run", is_flag=True, help="list the runs, estimate the time, run nothing")
@click.option("--json", "as_json", is_flag=True, help="print the table as JSON")
@click.option("--quiet", is_flag=True, help="show no progress")
@TRUST
@click.pass_context
@examples(
    "pinnsig sweep burgers --scale 0.5:2:4 --init calibrated,eoc --seed 0:2:3",
    "pinnsig sweep burgers --scale 1,1.3 --seed 0,1 --dry-run",
)
def sweep(
    context: click.Context,
    problem: str | None,
    config: Path | None,
    zipped: str | None,
    out: str | None,
    runs: str | None,
    track: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
    quiet: bool,
    trust: bool,
    **flags: Any,
) -> None:
    """Train on a grid of settings.

    Every combination is a run with a directory of its own. Each option of `solve` takes several
    values, separated by commas: --act tanh,softsign2 --init eoc:sigma_b=0,eoc:sigma_b=0.2; numbers
    also as START:STOP:COUNT or log:START:STOP:COUNT. The same command again finishes what is
    missing and repeats nothing. Exit code 0: all runs are done; 1: some failed or are missing; 2:
    bad input; 130 or 143: stopped by Ctrl-C or SIGTERM.
    """
    where = {name: flags.pop(name) for name in ("ray", "ray_cpus", "ray_gpus", "slurm")}
    pairing = None if zipped is None else zipped == "*" or zipped.split(",")
    named = {"problem": problem, "zip": pairing, "out": out, "runs": runs, **flags}
    given = flags_over_file(read_sweep(config) if config else {}, named, config)
    if given.get("problem") is None:
        raise click.UsageError("name a problem, such as burgers (see `pinnsig problems`)")
    if dry_run:
        context.exit(_list(given, as_json))
    asked = trusting(trust)
    if callable(asked):  # which cannot be below a live display
        plan(**_planning(given)).trusted(given.get("retry") or 1, asked)
    executor = chosen_executor({**given, **where})
    tracking = trackers(track)
    with sweep_progress(quiet) as shown:
        table = run_sweep(
            **given, executor=executor, watcher=shown, callbacks=tracking, trust=trust
        )
    if as_json:
        print_json({"path": str(table.path), "rows": table.rows})
    else:
        print_rows(table, RESULTS)
        for row in table:
            if row["status"] != DONE and row["reason"]:
                click.echo(f"{row['status']}: {row['run']}: {row['reason']}", err=True)
        click.echo(f"{table.path / 'results.csv'}")
    if table.interrupted:
        context.exit(128 + (shown.signal or signal.SIGINT))
    context.exit(INCOMPLETE if len(table.done) < len(table) else 0)


def print_rows(table: SweepTable, columns: tuple[str, ...]) -> None:
    """Print the settings that vary, and some columns."""
    names = [*table.varied, *columns]
    if all(row["learned"] is None for row in table):
        names = [name for name in names if name != "learned"]
    print_table(names, ([row[name] for name in names] for row in table))


@click.command()
@click.argument("directory", metavar="SWEEP", type=PATH)
@click.option("--by", required=True, metavar="NAME", help="the setting to compare, such as init")
@click.option("--metric", default="best_loss", help="best_loss, relative_l2, seconds  [best_loss]")
@click.option("--per", default="", metavar="NAMES", help="test apart for each value of these")
@click.option("--json", "as_json", is_flag=True, help="print as JSON")
@examples(
    "pinnsig compare SWEEP --by init",
    "pinnsig compare SWEEP --by act --metric relative_l2",
)
def compare(directory: Path, by: str, metric: str, per: str, as_json: bool) -> None:
    """Compare the values of a setting over a sweep.

    SWEEP is its directory. Prints median, range and number of seeds of each group of runs, then a
    sign test on all pairs of runs that are alike in everything else (two-sided, Holm's correction
    for several tests), which names a winner only where p < 0.05.
    """
    table = SweepDirectory.open(directory).table()
    apart = [name.strip() for name in per.split(",") if name.strip()]
    groups = group_spreads(table, by, metric)
    tests = sign_tests(table, by, metric, apart)
    if as_json:
        print_json({"by": by, "metric": metric, "groups": [g.as_dict() for g in groups],
                    "tests": [test.as_dict() for test in tests]})  # fmt: skip
        return
    names = list(groups[0].settings)
    print_table(
        (*names, by, f"median {metric}", "min", "max", "seeds"),
        [
            (*g.settings.values(), g.value, g.spread.median, g.spread.low, g.spread.high, g.seeds)
            for g in groups
        ],
    )
    click.echo()
    print_table(
        (*apart, by, "against", "lower", "higher", "equal", "unpaired", "p", "corrected", "winner"),
        [
            (*test.group.values(), test.first, test.second, test.wins, test.losses, test.ties,
             test.unpaired, f"{test.p_value:.2g}", f"{test.adjusted:.2g}",
             "-" if test.winner is None else test.winner)
            for test in tests
        ],
    )  # fmt: skip


def _planning(given: dict[str, Any]) -> dict[str, Any]:
    """What decides which runs there are, without how they are run."""
    return {name: value for name, value in given.items() if name not in RUNNING}


def _list(given: dict[str, Any], as_json: bool) -> int:
    """Print what would be run, and what of it cannot be; returns the exit code."""
    directory = plan(**_planning(given))
    tell(directory.notices)
    table = directory.table()
    left = directory.left(given.get("retry", 1))
    todo = [member.name for member in left]
    workers = given.get("workers", 1)
    executor = choose_executor(left, workers, given.get("batch", "auto"))
    found = estimate(directory, todo, workers)
    code = INCOMPLETE if found.refused else 0
    if as_json:
        print_json({"path": str(table.path), "todo": todo, "seconds": found.seconds,
                    "refused": found.refused, "rows": table.rows})  # fmt: skip
        return code
    print_rows(table, ("status", "run"))
    how = f"with {workers} worker{'s' if workers > 1 else ''}"
    if isinstance(executor, Batched):
        how = f"one after another, less in batches of {executor.workers}"
    for name, reason in found.refused.items():
        click.echo(f"cannot be run: {name}: {reason}", err=True)
    click.echo(
        f"{len(table)} runs in {table.path}, {len(todo)} to be run: about "
        f"{duration(found.seconds)} {how}"
    )
    return code
