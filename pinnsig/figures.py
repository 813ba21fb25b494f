"""Which figures a run has, and where they go in its directory."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from pinnsig.drawing import Measured, measurements, planes
from pinnsig.evaluation import Comparison
from pinnsig.judging import Independent
from pinnsig.model import Model
from pinnsig.networks import FFNN
from pinnsig.objective import Objective
from pinnsig.plots import (
    activations_figure,
    coefficients_figure,
    loss_figure,
    residual_figure,
    save_figure,
    slices_figure,
    solution_figure,
)
from pinnsig.runs import RunDirectory

POINTS_PER_LAYER = 500


def draw_figures(
    directory: RunDirectory,
    comparisons: Mapping[str, Comparison],
    independent: Independent | None = None,
    objective: Objective | None = None,
) -> list[Path]:
    """Draw losses, solution and slices of a run, residuals and what it learned.

    Args:
        directory: the run.
        comparisons: every field on a grid.
        independent: residuals at independent points.
        objective: whose model and data are drawn in full; None leaves figures at the grid's points.

    Returns:
        The files.
    """
    records = list(directory.metrics())
    figures = {"loss.png": loss_figure(records)}
    maps = cuts = comparisons
    measured: Mapping[str, Measured] = {}
    if objective is not None:
        problem = objective.model.problem
        maps, cuts = planes(objective.model, comparisons)
        measured = measurements(problem, objective.sites)
        if true := problem.true_values():
            figures["coefficients.png"] = coefficients_figure(records, true)
    for field, comparison in maps.items():
        suffix = f"_{field}" if len(maps) > 1 else ""
        figures[f"solution{suffix}.png"] = solution_figure(comparison, measured=measured.get(field))
        if len(comparison.axes) > 1:  # the same curves else
            figures[f"slices{suffix}.png"] = slices_figure(cuts[field])
    if independent is not None:
        names = list(next(iter(comparisons.values())).axes)
        points, sizes = independent.points, independent.sizes
        figures["residual.png"] = residual_figure(names, points, sizes)
    paths = [directory.path / "figures" / name for name in figures]
    for path, figure in zip(paths, figures.values(), strict=True):
        save_figure(figure, path)
    return paths


@torch.no_grad()
def draw_initial_activations(directory: RunDirectory, model: Model, points: Tensor) -> list[Path]:
    """Draw how the activations of every hidden layer are spread, on some of the points."""
    network = model.network
    if not isinstance(network, FFNN):
        return []
    x = model.inputs(points[:POINTS_PER_LAYER])
    layers: list[np.ndarray] = []
    for layer in network.linears[:-1]:
        x = network.activation(layer(x))
        layers.append(x.double().cpu().numpy().ravel())
    figure = activations_figure(layers, network.activation.bound, "Activations at the start")
    path = directory.path / "figures" / "activations.png"
    save_figure(figure, path)
    return [path]
