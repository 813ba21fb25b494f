"""Every figure of a run and of a sweep.

Only matplotlib's object API is used: no pyplot, so no backend is chosen and no display is needed,
and the settings of a program that plots for itself stay as they are.
"""

from pinnsig.plots.activations import activations_figure
from pinnsig.plots.coefficients import coefficients_figure
from pinnsig.plots.dots import Dots, dots_figure
from pinnsig.plots.epochs import epochs_figure
from pinnsig.plots.health import health_figure
from pinnsig.plots.history import loss_figure
from pinnsig.plots.panels import Curve, Curves, Map, histograms_figure, panels_figure
from pinnsig.plots.profiles import profiles_figure
from pinnsig.plots.residual import residual_figure
from pinnsig.plots.slices import slices_figure
from pinnsig.plots.solution import solution_figure
from pinnsig.plots.style import save_figure
from pinnsig.plots.sweep import heat_figure, spread_figure

__all__ = [
    "Curve",
    "Curves",
    "Dots",
    "Map",
    "activations_figure",
    "coefficients_figure",
    "dots_figure",
    "epochs_figure",
    "health_figure",
    "heat_figure",
    "histograms_figure",
    "loss_figure",
    "panels_figure",
    "profiles_figure",
    "residual_figure",
    "save_figure",
    "slices_figure",
    "solution_figure",
    "spread_figure",
]
