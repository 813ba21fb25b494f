"""The common look of all figures, and how they are saved."""

import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from pinnsig.core.files import replacing
from pinnsig.geometry import TIME_NAMES

DPI = 150
LONGEST = 4.0  # sides of a map that is still drawn to scale

# colours of Okabe and Ito, told apart with any colour vision; yellow is too pale for lines
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DARK = "#222222"
FAINT = "#8A8A8A"

REFERENCE: dict[str, Any] = {"color": PALETTE[0], "linestyle": "-", "linewidth": 2.2}
PREDICTION: dict[str, Any] = {"color": PALETTE[1], "linestyle": (0, (4, 2)), "linewidth": 1.8}
ERROR: dict[str, Any] = {"color": PALETTE[3], "linestyle": "-", "linewidth": 1.5}
DATA: dict[str, Any] = {"color": DARK, "markersize": 4, "markerfacecolor": "white"}

styled = matplotlib.rc_context(
    {
        "font.size": 10.5,
        "axes.titlesize": 11,
        "axes.labelsize": 11,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.formatter.limits": (-3, 4),
        "axes.formatter.use_mathtext": True,
        "axes.formatter.useoffset": False,
        "xtick.labelsize": 9.5,
        "ytick.labelsize": 9.5,
        "legend.frameon": False,
        "figure.titlesize": 12,
        "grid.color": "#DDDDDD",
        "grid.linewidth": 0.7,
        "text.usetex": False,
    }
)
"""Decorator: run a function under the look of this package, and restore the settings after it."""


def new_figure(width: float, height: float, title: str = "", compressed: bool = False) -> Figure:
    """An empty figure of a size in inches, laid out so that nothing overlaps.

    Args:
        width, height: in inches.
        title: above all.
        compressed: whether axes of fixed proportions stand close together.
    """
    figure = Figure(figsize=(width, height), layout="compressed" if compressed else "constrained")
    if title:
        figure.suptitle(title, parse_math=False)
    return figure


def is_to_scale(width: float, height: float, names: Sequence[str]) -> bool:
    """Return whether a map over two coordinates is drawn to scale: space both, of like extent.

    Args:
        width, height: the extents of the coordinates.
        names: of both.
    """
    if any(name in TIME_NAMES for name in names):
        return False
    return 0 < max(width, height) <= LONGEST * min(width, height)


def symbol(name: str) -> str:
    """How to write the name of a coordinate or field: Greek letters as such, "tau" as τ."""
    try:
        return unicodedata.lookup(f"GREEK SMALL LETTER {name.upper()}")
    except KeyError:
        return name


def finite(values: Any) -> NDArray[np.float64]:
    """The values as float64, with NaN for None and infinities: matplotlib leaves a gap there."""
    array = np.array(values, dtype=np.float64)
    array[~np.isfinite(array)] = np.nan
    return array


def log_axis(axis: Axes, series: Iterable[NDArray[np.float64]]) -> None:
    """Make the vertical axis logarithmic; say so where no value of the series can be drawn."""
    axis.grid(True)
    if not any(np.any(values > 0) for values in series):
        # limits come first: matplotlib warns about a log axis that it has to scale by such values
        axis.set_ylim(1e-16, 1.0)
        note = axis.text(0.5, 0.5, "no positive values", ha="center", transform=axis.transAxes)
        note.set_bbox({"facecolor": "white", "edgecolor": "none"})
    axis.set_yscale("log", nonpositive="mask")


@styled
def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure, in the format of the path's suffix (PNG without one).

    The file appears whole or not at all; missing folders are made.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as part:
        figure.savefig(part, dpi=DPI, format=path.suffix[1:] or "png")
