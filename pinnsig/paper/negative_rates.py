"""Negative rates: the closed form, real networks beside it, and the rule p(L)."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure

from pinnsig.activations import parse_activation
from pinnsig.calibration import negative_rate, sigma_star, target_negative_rate
from pinnsig.paper.base import Data, PaperFigure, Verdict, verdict
from pinnsig.plots import Curve, Curves, Map, panels_figure
from pinnsig.signal import fit_exponential, network_rates, surrogate_rate, surrogate_target


class SigmaStar(PaperFigure):
    """sigma*(p) at one depth, and pi_L(sigma) over depth and noise."""

    name = "sigma-star"
    source = "appendix B.3, first figure; theorem 4.7"
    claim = (
        "The closed form gives each negative rate its noise scale; the rate goes from 0 to 1/2 as "
        "the noise grows, within a narrow band."
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"depth": 100, "depths": 200, "sigmas": 100, "samples": 20_000},
        "paper": {"depth": 100, "depths": 1000, "sigmas": 400, "samples": 1_000_000},
    }

    def compute(self, seed: int, depth: int, depths: int, sigmas: int, samples: int) -> Data:
        """The two panels, and Monte Carlo of the surrogate at some noise scales."""
        p = np.linspace(0.001, 0.499, 499)
        L = np.unique(np.round(np.linspace(1, 1000, depths)))
        sigma = np.linspace(0.01, 1.0, sigmas)
        checked = np.array([sigma_star(v, depth) for v in (0.01, 0.1, 0.25, 0.4, 0.49)])
        rates = [surrogate_rate(s, depth, samples=samples, seed=seed + i)
                 for i, s in enumerate(checked)]  # fmt: skip
        return {
            "depth": depth, "p": p, "sigma_star": sigma_star(p, depth), "L": L, "sigma": sigma,
            "pi": negative_rate(sigma[None], L[:, None]), "checked": checked,
            "rate": [r.value for r in rates], "error": [r.error for r in rates],
        }  # fmt: skip

    def draw(self, data: Data) -> Figure:
        """sigma*(p) with Monte Carlo points, and the map."""
        dots = {"linestyle": "", "marker": "o", "markersize": 4, "color": "#D55E00"}
        curves = [
            Curve(data["p"], data["sigma_star"], rf"$\sigma^*(p)$, $L$ = {int(data['depth'])}"),
            Curve(data["rate"], data["checked"], "Monte Carlo of the surrogate", style=dots),
        ]
        return panels_figure([
            Curves(curves, "negative rate $p$", r"noise scale $\sigma^*$", marks=(0.1, 0.49)),
            Map(data["sigma"], data["L"], data["pi"], r"noise scale $\sigma$", "depth $L$",
                r"negative rate $\pi_L(\sigma)$", range=(0.0, 0.5)),
        ])  # fmt: skip

    def judge(self, data: Data) -> Verdict:
        """The inverse, monotony, Monte Carlo within its errors, and the width of the band."""
        back = negative_rate(data["sigma_star"], int(data["depth"]))
        off = float(np.max(np.abs(back - data["p"])))
        exact = negative_rate(data["checked"], int(data["depth"]))
        deviation = np.abs(np.array(data["rate"]) - exact) / np.array(data["error"])
        pi = data["pi"]
        band = float(np.mean((pi > 0.05) & (pi < 0.45)))
        conditions = {
            "inverse": off < 1e-12,
            "rising": bool(np.all(np.diff(pi, axis=1) >= 0)),
            "Monte Carlo within 4 standard errors": bool(np.all(deviation < 4)),
            "narrow band": band < 0.25,
        }
        words = (
            f"pi_L(sigma*(p)) = p to {off:.0e}; Monte Carlo within {deviation.max():.1f} standard "
            f"errors; rates from 0.05 to 0.45 fill {100 * band:.0f} % of the map"
        )
        return verdict(conditions, words, {
            "sigma_star_0.10": float(np.interp(0.1, data["p"], data["sigma_star"])),
            "sigma_star_0.49": float(np.interp(0.49, data["p"], data["sigma_star"])),
            "inverse_error": off, "deviation": deviation.tolist(), "band_share": band,
        })  # fmt: skip


class SurrogateRate(PaperFigure):
    """The negative rate of networks at sigma*(p), against p."""

    name = "surrogate-rate"
    source = "appendix B.4, figure on depths 1, 10, 50"
    claim = (
        "Real networks flip more signs than the surrogate predicts, the more so the deeper they "
        "are, but their rate still follows the target."
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"depths": (1, 10, 50), "targets": 25, "networks": 500, "width": 64},
        "paper": {"depths": (1, 10, 50), "targets": 50, "networks": 5000, "width": 64},
    }

    def compute(
        self, seed: int, depths: tuple[int, ...], targets: int, networks: int, width: int
    ) -> Data:
        """Rates with standard errors, shape (depths, targets)."""
        f, p = parse_activation("tanh"), np.linspace(0.01, 0.49, targets)
        rates = [
            [network_rates(f, sigma_star(v, L), L, width, networks, seed)[-1] for v in p]
            for L in depths
        ]
        return {
            "depths": depths, "p": p, "rate": np.array([[r.value for r in row] for row in rates]),
            "error": np.array([[r.error for r in row] for row in rates]),
        }  # fmt: skip

    def draw(self, data: Data) -> Figure:
        """A panel for each depth."""
        panels = []
        for L, rate, error in zip(data["depths"], data["rate"], data["error"], strict=True):
            dots = {"marker": "o", "markersize": 3, "linewidth": 1.0}
            curves = [
                Curve(data["p"], data["p"], r"surrogate $\pi_L(\sigma^*)$ = target"),
                Curve(data["p"], rate, r"networks, $\tilde\pi_L$", error, style=dots),
            ]
            panels.append(
                Curves(curves, "target $p$", "negative rate", f"$L$ = {L}", limits=(0, 0.52))
            )
        return panels_figure(panels, columns=3)

    def judge(self, data: Data) -> Verdict:
        """Largest gap by depth; monotony in the target."""
        gap = data["rate"] - data["p"]
        largest = np.max(np.abs(gap), axis=1)
        above = np.mean(gap[-1] > 0)
        steps, errors = np.diff(data["rate"], axis=1), data["error"]
        rising = bool(np.all(steps > -4 * np.hypot(errors[:, 1:], errors[:, :-1])))
        words = (
            f"largest gap {', '.join(f'{g:.3f}' for g in largest)} at depth "
            f"{', '.join(str(L) for L in data['depths'])}"
        )
        conditions = {
            "gap grows with depth": bool(np.all(np.diff(largest) > 0)),
            "more flips than predicted": bool(above > 0.9),
            "rises with the target": rising,
        }
        return verdict(conditions, words, {
            "depths": list(data["depths"]), "largest_gap": largest.tolist(),
            "rate_at_largest_gap": data["rate"][range(len(gap)), np.abs(gap).argmax(1)].tolist(),
            "target_at_largest_gap": data["p"][np.abs(gap).argmax(axis=1)].tolist(),
        })  # fmt: skip


class TargetRate(PaperFigure):
    """The surrogate target p_sur(L) at which networks reach 0.4, and its exponential fit."""

    name = "target-rate"
    source = "section 4.2; appendix B.4, figure on the best surrogate target"
    claim = (
        "To reach a real rate of 0.4 the surrogate's target is 0.3 to 0.4 up to ten layers and "
        "then falls as 2.05 exp(-0.133 L) (tanh, width 64)."
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"networks": 500, "deepest": 100},
        "paper": {"networks": 3000, "deepest": 100},
    }
    others = (("tanh", 16), ("tanh", 256), ("softsign2", 64), ("erf", 64))

    def compute(self, seed: int, networks: int, deepest: int) -> Data:
        """p_sur by depth for tanh at width 64, and more coarsely for other networks."""
        depths = [L for L in (1, 2, 4, 6, 8, *range(10, 101, 5)) if deepest >= L]
        few = [L for L in (10, 25, 50, 75, 100) if deepest >= L]
        tanh = parse_activation("tanh")
        main = [surrogate_target(tanh, L, 64, networks=networks, seed=seed) for L in depths]
        data: Data = {
            "depths": depths, "p": [t.p for t in main], "log_error": [t.log_error for t in main],
            "sigma_z": [t.sigma_z for t in main], "few": few,
            "names": [f"{act}, width {width}" for act, width in self.others],
        }  # fmt: skip
        data["others"] = [
            [surrogate_target(parse_activation(act), L, width, networks=networks, seed=seed).p
             for L in few]
            for act, width in self.others
        ]  # fmt: skip
        return data

    def draw(self, data: Data) -> Figure:
        """p_sur with error bars, our fit and the paper's."""
        L, p = np.array(data["depths"]), np.array(data["p"])
        fit = fit_exponential(L, p)
        deep = L[L >= 10]
        dots = {"linestyle": "", "marker": "o", "markersize": 4}
        ours = f"fit {fit.amplitude:.2f} exp(-{fit.rate:.3f} L)"
        curves = [
            Curve(L, p, "tanh, width 64", p * np.array(data["log_error"]), style=dots),
            Curve(deep, [fit.at(v) for v in deep], ours),
            Curve(deep, 2.05 * np.exp(-0.133 * deep), "paper, 2.05 exp(-0.133 L)"),
        ]  # fmt: skip
        small = {"linewidth": 1.0}
        more = [
            Curve(data["few"], row, name, style=small)
            for name, row in zip(data["names"], data["others"], strict=True)
        ]
        panel = Curves([*curves, *more], "depth $L$", "surrogate target $p_{sur}(L)$",
                       y_scale="log", levels=(0.4,))  # fmt: skip
        shallow = Curves([curves[0]], "depth $L$", "surrogate target $p_{sur}(L)$",
                         "linear axis", limits=(0, 0.5), levels=(0.4,))  # fmt: skip
        return panels_figure([panel, shallow])

    def judge(self, data: Data) -> Verdict:
        """Fitted amplitude and rate over depths from 10, and the distance to the paper's curve."""
        L, p = np.array(data["depths"]), np.array(data["p"])
        fit, later = fit_exponential(L, p), fit_exponential(L, p, from_depth=20)
        deep = L >= 20
        off = np.log(p[deep] / [target_negative_rate(int(v)) for v in L[deep]])
        allowed = np.log(1.25) + 4 * np.array(data["log_error"])[deep]
        at_ten = float(p[L == 10][0])
        words = (
            f"fit over L = 10 to {L[-1]}: {fit.amplitude:.2f} exp(-{fit.rate:.4f} L); "
            f"over L >= 20: {later.amplitude:.2f} exp(-{later.rate:.4f} L); "
            f"p_sur is {p[L <= 8].min():.2f} to {p[L <= 8].max():.2f} up to L = 8 "
            f"and {at_ten:.2f} at 10, where the curve gives 0.54"
        )
        conditions = {
            "within 25 % of the paper's curve from L = 20": bool(np.all(np.abs(off) < allowed)),
            "rate 0.133 within 5 %": abs(fit.rate / 0.133 - 1) < 0.05,
            "0.3 to 0.4 up to L = 10": bool(np.all(np.abs(p[L <= 10] - 0.35) < 0.07)),
        }
        return verdict(conditions, words, {
            "amplitude": fit.amplitude, "amplitude_error": fit.amplitude_error,
            "rate": fit.rate, "rate_error": fit.rate_error,
            "amplitude_from_20": later.amplitude, "rate_from_20": later.rate,
            "amplitude_to_50": fit_exponential(L[L <= 50], p[L <= 50]).amplitude,
            "rate_to_50": fit_exponential(L[L <= 50], p[L <= 50]).rate,
            "largest_log_distance_from_20": float(np.max(np.abs(off))), "p_at_10": at_ten,
            **{f"rate of {n}": fit_exponential(data["few"], row).rate
               for n, row in zip(data["names"], data["others"], strict=True)},
        })  # fmt: skip
