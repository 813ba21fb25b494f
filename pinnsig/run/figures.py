"""Which figures a run has, and where they go in its directory."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from pinnsig.core.errors import FigureError
from pinnsig.model import Model, SlabModel
from pinnsig.model.evaluation import Comparison
from pinnsig.networks import Network, main_inputs, main_network
from pinnsig.objective import Objective
from pinnsig.plots import (
    activations_figure,
    coefficients_figure,
    loss_figure,
    profiles_figure,
    residual_figure,
    save_figure,
    slices_figure,
    solution_figure,
)
from pinnsig.run.directory import RunDirectory
from pinnsig.run.judging import Independent, Uncertainty
from pinnsig.run.planes import Measured, measurements, planes

POINTS_PER_LAYER = 500

Tell = Callable[[str], None]


def draw_figures(
    directory: RunDirectory,
    comparisons: Mapping[str, Comparison],
    independent: Independent | None = None,
    objective: Objective | None = None,
    tell: Tell | None = None,
    model: Model | SlabModel | None = None,
    functions: Mapping[str, Comparison] | None = None,
    uncertainty: Uncertainty | None = None,
) -> list[Path]:
    """Draw losses, solution and slices of a run, residuals and what it learned.

    Args:
        directory: the run.
        comparisons: every field on a grid.
        independent: residuals at independent points.
        objective: whose model and data are drawn in full; None leaves figures at the grid's points.
        tell: told of each figure that cannot be drawn or written; None raises.
        model: what is drawn in full where there is no objective.
        functions: every unknown function on a grid.
        uncertainty: what noise in the data leaves unknown.

    Returns:
        The files.

    Raises:
        FigureError: a figure cannot be drawn or written.
    """
    figures: dict[str, Callable[[], Figure]] = {
        "loss.png": lambda: loss_figure(list(directory.metrics()))
    }
    # scattered points are no map
    maps = cuts = {name: own for name, own in comparisons.items() if not own.scattered}
    measured: Mapping[str, Measured] = {}
    if objective is not None:
        problem = objective.model.problem
        maps, cuts = planes(objective.model, comparisons)
        measured = measurements(problem, objective.sites)
        if true := problem.true_values():
            figures["coefficients.png"] = lambda: coefficients_figure(
                list(directory.metrics()), true
            )
    elif model is not None:
        maps, cuts = planes(model, comparisons)
    for field, comparison in maps.items():
        suffix = f"_{field}" if len(maps) > 1 else ""
        data = measured.get(field)
        figures[f"solution{suffix}.png"] = lambda c=comparison, d=data: solution_figure(
            c, measured=d
        )
        if len(comparison.axes) > 1:  # the same curves else
            figures[f"slices{suffix}.png"] = lambda c=cuts[field]: slices_figure(c)
    for name, comparison in (functions or {}).items():
        if not comparison.scattered:
            band = None if uncertainty is None else uncertainty.bands.get(name)
            figures[f"function_{name}.png"] = lambda c=comparison, b=band: solution_figure(
                c, band=b
            )
    if uncertainty is not None and uncertainty.profiles and objective is not None:
        model = objective.model
        figures["profiles.png"] = lambda: profiles_figure(
            {n: (p.values, p.losses, p.quadratic) for n, p in uncertainty.profiles.items()},
            model.coefficient_values(),
            uncertainty.intervals,
            model.problem.true_values(),
        )
    if independent is not None:
        names = list(next(iter(comparisons.values())).axes)
        points, sizes = independent.points, independent.sizes
        figures["residual.png"] = lambda: residual_figure(names, points, sizes)
    drawn = [_drawn(directory, name, make, tell) for name, make in figures.items()]
    return [path for path in drawn if path is not None]


def draw_initial_activations(
    directory: RunDirectory, model: Model, points: Tensor, tell: Tell | None = None
) -> list[Path]:
    """Draw how the states of every hidden layer are spread, on some of the points.

    A network of the user's own has no layers that are known.

    Args:
        directory: the run.
        model: at its start.
        points: collocation points, shape (N, dimensions).
        tell: see `draw_figures`.

    Raises:
        FigureError: see `draw_figures`.
    """
    network = main_network(model.network)
    if not isinstance(network, Network):
        return []

    @torch.no_grad()
    def make() -> Figure:
        inputs = main_inputs(model.network, model.inputs(points[:POINTS_PER_LAYER]))
        states = network.states(network.embed(inputs))
        layers = [x.double().cpu().numpy().ravel() for x in states]
        largest = max(float(np.abs(layer).max()) for layer in layers)
        # a sum of activations may leave their range
        bound = max(network.activation.bound, largest if np.isfinite(largest) else 0.0)
        return activations_figure(layers, bound, "Activations at the start")

    path = _drawn(directory, "activations.png", make, tell)
    return [] if path is None else [path]


def _drawn(
    directory: RunDirectory, name: str, make: Callable[[], Figure], tell: Tell | None
) -> Path | None:
    """Draw and write a figure; None where it could not be, which is told."""
    path = directory.path / "figures" / name
    try:
        save_figure(make(), path)
    except Exception as error:  # a figure is an extra: the numbers may be anything, the disk full
        reason = (getattr(error, "strerror", None) or str(error) or "no message").splitlines()[0]
        text = f"cannot draw {path}: {type(error).__name__}: {reason}"
        if tell is None:
            raise FigureError(text) from error
        tell(text)
        return None
    return path
