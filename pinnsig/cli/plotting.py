"""`pinnsig plot`."""

from pathlib import Path

import click
import torch

from pinnsig.cli.examples import examples
from pinnsig.cli.options import RUN
from pinnsig.cli.trusting import TRUST, tell, trusting
from pinnsig.model import SlabModel
from pinnsig.model.evaluation import compare, compare_functions
from pinnsig.objective import Objective
from pinnsig.plots import epochs_figure, save_figure
from pinnsig.problem import INTERIOR
from pinnsig.run.building import build
from pinnsig.run.directory import RunDirectory
from pinnsig.run.figures import draw_figures, draw_initial_activations
from pinnsig.run.judging import judge_residuals, noise_uncertainty
from pinnsig.run.loading import load
from pinnsig.run.points import first_sites
from pinnsig.sweeps import SweepDirectory
from pinnsig.sweeps.drawing import draw_sweep


@click.command()
@RUN
@click.option("--x", help="of a sweep: the setting along the axis  [the scale]")
@click.option("--y", help="of a sweep: the other setting of maps")
@TRUST
@examples(
    "pinnsig plot RUN",
    "pinnsig plot SWEEP --x scale --y relative_l2",
)
def plot(run: Path, x: str | None, y: str | None, trust: bool) -> None:
    """Draw the figures of a finished run, or of a sweep.

    RUN is its directory; the figures go into its folder figures/. Of a sweep: loss, error and
    wall time with medians and full ranges over seeds, and maps where two settings have several
    numbers. Of a run of `classify`: losses and accuracy by epoch.
    """
    if SweepDirectory.is_sweep(run):
        for path in draw_sweep(SweepDirectory.open(run).write_results(), x, y):
            click.echo(path)
        return
    if x or y:
        raise click.UsageError("--x and --y belong to sweeps")
    opened = RunDirectory.open(run)
    if opened.is_classifier():
        path = opened.path / "figures" / "epochs.png"
        save_figure(epochs_figure(list(opened.metrics())), path)
        click.echo(path)
        return
    trained = load(run, trust=trusting(trust))
    tell(trained.notices)
    if isinstance(trained.model, SlabModel):
        for path in draw_figures(trained.directory, compare(trained.model), model=trained.model):
            click.echo(path)
        return
    cls, settings, directory = (
        type(trained.model.problem),
        trained.settings,
        trained.directory,
    )
    start = build(settings, cls).model  # the seed gives the first weights again
    sites = first_sites(directory, settings, start.problem)
    objective = Objective(trained.model.double(), "auto", sites)
    residuals = judge_residuals(objective, {}, settings.seed)
    learned = bool(trained.model.start or trained.model.problem.functions())
    paths = draw_figures(
        directory,
        compare(trained.model),
        residuals,
        objective,
        functions=compare_functions(trained.model),
        uncertainty=noise_uncertainty(objective) if learned else None,
    )
    points = torch.as_tensor(sites[INTERIOR].points).to(next(start.parameters()))
    for path in [*paths, *draw_initial_activations(directory, start, points)]:
        click.echo(path)
