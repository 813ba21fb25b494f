"""Iterates of x -> f(a x): random gains, one gain and many starts, several gains and one start."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from matplotlib.figure import Figure

from pinnsig.activations import parse_activation
from pinnsig.core.seeds import weight_generator
from pinnsig.paper.base import Data, PaperFigure, Verdict, verdict
from pinnsig.plots import Curve, Curves, panels_figure
from pinnsig.signal import bifurcation, constant_gains, iterate, uniform_gains

ACTIVATIONS = ("tanh", "erf", "gd", "softsign1")


class RandomGains(PaperFigure):
    """tanh under gains U[1 - delta, 1 + delta]."""

    name = "random-gains"
    source = "section 4.1, figure on randomly varying gains"
    claim = (
        "Gains in a narrow band about omega let signals of both signs fade slowly; in a wide band "
        "they are driven to 0, or to saturation with the sign lost."
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"steps": 300, "starts": 60, "deltas": (0.0001, 0.5, 1.0, 3.0)},
        "paper": {"steps": 1000, "starts": 60, "deltas": (0.0001, 0.5, 1.0, 3.0)},
    }

    def compute(self, seed: int, steps: int, starts: int, deltas: tuple[float, ...]) -> Data:
        """Iterates of shape (deltas, steps + 1, starts)."""
        x = torch.linspace(-1, 1, starts, dtype=torch.float64)
        generator = weight_generator(seed)
        f = parse_activation("tanh")
        paths = [iterate(f, uniform_gains(d, (steps,), generator), x).numpy() for d in deltas]
        return {"deltas": deltas, "paths": np.array(paths)}

    def draw(self, data: Data) -> Figure:
        """A panel for each delta."""
        style = {"color": "#0072B2", "linestyle": "-", "linewidth": 0.5, "alpha": 0.6}
        return panels_figure(
            [
                Curves([Curve(np.arange(len(p)), p, style=style)], "step $n$", "$x_n$",
                       rf"$\delta$ = {d:g}", limits=(-1.05, 1.05))
                for d, p in zip(data["deltas"], data["paths"], strict=True)
            ]
        )  # fmt: skip

    def judge(self, data: Data) -> Verdict:
        """Size of the last iterates, by delta; narrow: near sqrt(3 / 2n), the law for a = omega."""
        last = np.abs(data["paths"][:, -1])
        median = np.median(last, axis=1)
        slow = math.sqrt(3 / (2 * (data["paths"].shape[1] - 1)))
        kept = float(np.mean(np.sign(data["paths"][0, -1]) == np.sign(data["paths"][0, 0])))
        widest = data["paths"][-1, 1:]
        reach = float(np.quantile(np.abs(widest), 0.95))
        flips = float(np.mean(widest[1:] * widest[:-1] < 0))
        words = (
            f"median |x_n| at the end: {', '.join(f'{m:.2g}' for m in median)} for delta = "
            f"{', '.join(f'{d:g}' for d in data['deltas'])}; sqrt(3/2n) = {slow:.2g}; at the "
            f"largest delta 5 % of the iterates are above {reach:.2f} and "
            f"{100 * flips:.0f} % of the steps change the sign"
        )
        conditions = {
            "narrow band fades slowly": bool(median[0] > 0.5 * slow and kept == 1.0),
            "wider bands die": bool(np.all(median[1:3] < 0.1 * median[0])),
            "widest band saturates, sign lost": reach > 0.9 and flips > 0.1,
        }
        return verdict(conditions, words, {
            "deltas": list(data["deltas"]), "median_last": median.tolist(),
            "law_at_omega": slow, "signs_kept_narrow": kept, "quantile_95_widest": reach,
            "sign_changes_per_step_widest": flips,
        })  # fmt: skip


class FixedGain(PaperFigure):
    """Four activations at a = omega + 0.3 from 60 starts."""

    name = "fixed-gain"
    source = "appendix B.2, first figure"
    claim = (
        "At a gain above omega every start but 0 is led to the fixed point of its own sign, "
        "whatever its size."
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"steps": 50, "starts": 60, "excess": 0.3},
        "paper": {"steps": 50, "starts": 60, "excess": 0.3},
    }

    def compute(self, seed: int, steps: int, starts: int, excess: float) -> Data:  # noqa: ARG002
        """Iterates of shape (activations, steps + 1, starts), and the fixed points."""
        x = torch.linspace(-1, 1, starts, dtype=torch.float64)
        paths, limits = [], []
        for name in ACTIVATIONS:
            f = parse_activation(name)
            a = f.omega + excess
            paths.append(iterate(f, constant_gains(a, steps), x).numpy())
            limits.append(bifurcation(f, [a])[0])
        return {"names": list(ACTIVATIONS), "paths": np.array(paths), "xi": np.array(limits)}

    def draw(self, data: Data) -> Figure:
        """A panel for each activation, with the fixed points marked."""
        style = {"color": "#0072B2", "linestyle": "-", "linewidth": 0.6, "alpha": 0.7}
        cross = {"color": "#D55E00", "linestyle": "", "marker": "x", "markersize": 9}
        panels = []
        for name, path, xi in zip(data["names"], data["paths"], data["xi"], strict=True):
            last = len(path) - 1
            curves = [
                Curve(np.arange(len(path)), path, style=style),
                Curve([last, last], [-xi, xi], r"fixed points $\pm\xi_a$", style=cross),
            ]
            panels.append(Curves(curves, "step $n$", "$x_n$", name))
        return panels_figure(panels)

    def judge(self, data: Data) -> Verdict:
        """Distance of the last iterates from the fixed point of their sign."""
        ends = np.sign(data["paths"][:, 0]) * data["xi"][:, None]
        off = np.max(np.abs(data["paths"][:, -1] / ends - 1), axis=1)
        return verdict(
            {n: bool(e < 0.01) for n, e in zip(data["names"], off, strict=True)},
            f"after {data['paths'].shape[1] - 1} steps the farthest iterate is {off.max():.1e} of "
            "xi away from it",
            {"relative_distance": off.tolist(), "xi": data["xi"].tolist()},
        )


class Convergence(PaperFigure):
    """Iterates from 0.1 at a = omega + epsilon for five epsilons."""

    name = "convergence"
    source = "appendix B.2, second figure"
    claim = "Where the iterates end depends on the gain alone, and a larger gain ends higher."
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"steps": 50, "start": 0.1, "excesses": (0.1, 0.2, 0.3, 0.4, 0.5)},
        "paper": {"steps": 50, "start": 0.1, "excesses": (0.1, 0.2, 0.3, 0.4, 0.5)},
    }

    def compute(self, seed: int, steps: int, start: float, excesses: tuple[float, ...]) -> Data:  # noqa: ARG002
        """Iterates of shape (activations, excesses, steps + 1), and the fixed points."""
        x = torch.tensor(start, dtype=torch.float64)
        paths, limits = [], []
        for f in map(parse_activation, ACTIVATIONS):
            gains = [f.omega + e for e in excesses]
            paths.append([iterate(f, constant_gains(a, steps), x).numpy() for a in gains])
            limits.append(bifurcation(f, gains))
        return {
            "names": list(ACTIVATIONS), "excesses": excesses, "paths": np.array(paths),
            "xi": np.array(limits),
        }  # fmt: skip

    def draw(self, data: Data) -> Figure:
        """A panel for each activation, a line for each gain."""
        panels = []
        for name, paths, limits in zip(data["names"], data["paths"], data["xi"], strict=True):
            steps = paths.shape[1] - 1
            curves = [
                Curve(np.arange(steps + 1), p, rf"$\epsilon$ = {e:g}")
                for e, p in zip(data["excesses"], paths, strict=True)
            ]
            cross = {"color": "#222222", "linestyle": "", "marker": "x", "markersize": 7}
            ends = Curve(np.full(len(limits), steps), limits, r"$\xi_a$", style=cross)
            panels.append(Curves([*curves, ends], "step $n$", "$x_n$", name))
        return panels_figure(panels)

    def judge(self, data: Data) -> Verdict:
        """Distance from xi_a at the end, and the order of the limits."""
        off = np.max(np.abs(data["paths"][:, :, -1] / data["xi"] - 1), axis=0)
        rising = bool(np.all(np.diff(data["xi"], axis=1) > 0))
        return verdict(
            {"arrives within 1 %": bool(np.all(off < 0.01)), "larger gain, higher end": rising},
            f"after {data['paths'].shape[2] - 1} steps the iterates are within "
            f"{', '.join(f'{o:.1e}' for o in off)} of xi_a for epsilon = "
            f"{', '.join(f'{e:g}' for e in data['excesses'])}",
            {"relative_distance": off.tolist(), "xi_tanh": data["xi"][0].tolist()},
        )
