"""chi of mean-field theory: at calibrated noise up to great depth, and over depth and noise."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure

from pinnsig.activations import parse_activation
from pinnsig.calibration import sigma_star
from pinnsig.initializers import Calibrated, Gaussian, GivenNoise
from pinnsig.paper.base import Data, PaperFigure, Verdict, verdict
from pinnsig.plots import Curve, Curves, Map, panels_figure
from pinnsig.signal import RandomNetwork, chi_map, layer_chi, normal_inputs

NEAR = 0.05  # |chi - 1| within which gradients keep their size, as the paper says by "near 1"


class ChiCalibrated(PaperFigure):
    """chi of the last layer at sigma*(p, L) against the depth L."""

    name = "chi-calibrated"
    source = "appendix B.3, second figure"
    claim = (
        "At the calibrated noise chi stays within a few percent of 1 for p = 0.01 and p = 0.49, up "
        "to 200,000 layers."
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"deepest": 200_000, "depths": 30, "measured": (10, 30, 100, 300), "width": 64},
        "paper": {
            "deepest": 200_000, "depths": 80, "measured": (10, 30, 100, 300, 1000, 3000),
            "width": 256,
        },
    }  # fmt: skip
    rates = (0.01, 0.49)

    def compute(
        self, seed: int, deepest: int, depths: int, measured: tuple[int, ...], width: int
    ) -> Data:
        """Mean-field chi, shape (rates, depths), and that of networks, shape (rates, measured)."""
        f = parse_activation("tanh")
        L = np.unique(np.round(np.geomspace(2, deepest, depths))).astype(int)
        theory = []
        for p in self.rates:
            w = 1 + sigma_star(p, L) ** 2
            theory.append(np.diag(chi_map(f, w, [int(v) for v in L])))
        x = normal_inputs(16, width, seed)
        found = []
        for p in self.rates:
            row = []
            for depth in measured:
                chi = layer_chi(RandomNetwork(f, Calibrated(p), depth, width, seed), x)
                row.append(np.exp(np.mean(np.log(chi.measured[depth // 2 :]))))
            found.append(row)
        return {
            "p": self.rates, "L": L, "chi": np.array(theory), "measured_L": measured,
            "measured": np.array(found), "width": width,
        }  # fmt: skip

    def draw(self, data: Data) -> Figure:
        """Theory as lines, networks as dots."""
        curves = []
        for i, p in enumerate(data["p"]):
            colour = ("#0072B2", "#D55E00")[i]
            dots = {"color": colour, "linestyle": "", "marker": "o", "markersize": 5}
            curves += [
                Curve(data["L"], data["chi"][i], f"mean field, p = {p:g}", style={"color": colour}),
                Curve(data["measured_L"], data["measured"][i],
                      f"networks of width {int(data['width'])}, p = {p:g}", style=dots),
            ]  # fmt: skip
        return panels_figure([
            Curves(curves, "depth $L$", r"$\chi_L$", title, x_scale="log", levels=(1.0,),
                   limits=limits)
            for title, limits in (("all", None), ("near 1", (0.9, 1.1)))
        ])  # fmt: skip

    def judge(self, data: Data) -> Verdict:
        """Distance of chi from 1 by theory and in networks."""
        deep = data["L"] >= 50
        theory = float(np.max(np.abs(data["chi"][:, deep] - 1)))
        shallow = float(np.max(np.abs(data["chi"][:, ~deep] - 1)))
        kept = np.array(data["measured_L"]) >= 50
        off = data["measured"][:, kept] - 1
        words = (
            f"largest |chi - 1| from 50 layers on {theory:.3f} in mean field ({shallow:.2f} in "
            f"shallower networks); in networks the layers' chi is {1 + off.min():.3f} to "
            f"{1 + off.max():.3f}, below 1 because their preactivations are not Gaussian"
        )
        conditions = {
            "mean field within 5 %": theory < NEAR,
            "networks within 5 %": bool(np.all(np.abs(off) < NEAR)),
        }
        return verdict(conditions, words, {
            "mean_field_off": theory, "mean_field_off_below_50_layers": shallow,
            "chi_at_200000": data["chi"][:, -1].tolist(),
            "measured_L": list(data["measured_L"]), "measured": data["measured"].tolist(),
        })  # fmt: skip


class ChiHeatmaps(PaperFigure):
    """|chi_L - 1| over depth and noise, by mean-field theory and in networks."""

    name = "chi-heatmaps"
    source = "appendix B.6, figure on heat maps"
    claim = (
        "chi stays near 1 in a broad band of noise scales for D + Z, but only in a narrow strip "
        "for Gaussian weights."
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"depth": 200, "sigmas": 80, "measured": 12, "width": 64},
        "paper": {"depth": 1000, "sigmas": 200, "measured": 40, "width": 64},
    }

    def compute(self, seed: int, depth: int, sigmas: int, measured: int, width: int) -> Data:
        """|chi - 1| of theory and networks, shape (depths, sigmas), for both schemes."""
        f = parse_activation("tanh")
        L = np.unique(np.round(np.geomspace(1, depth, 100))).astype(int)
        sigma, coarse = np.linspace(0.01, 2.0, sigmas), np.linspace(0.05, 2.0, measured)
        depths = [int(v) for v in L]
        x = normal_inputs(16, width, seed)
        networks = [
            np.array([
                layer_chi(RandomNetwork(f, scheme(s), depth, width, seed), x).measured[L - 1]
                for s in coarse
            ]).T
            for scheme in (GivenNoise, lambda sigma: Gaussian(sigma_w=sigma))
        ]  # fmt: skip
        return {
            "L": L, "sigma": sigma, "coarse": coarse,
            "theory": np.abs([chi_map(f, w, depths) - 1 for w in (1 + sigma**2, sigma**2)]),
            "networks": np.abs(np.array(networks) - 1),
        }  # fmt: skip

    def draw(self, data: Data) -> Figure:
        """Theory above, networks below; D + Z on the left, Gaussian on the right."""
        panels = []
        for key, grid, how in (
            ("theory", "sigma", "mean field"),
            ("networks", "coarse", "networks"),
        ):
            for scheme, label, values in zip(
                ("D + Z", "Gaussian"), (r"\sigma_z", r"\sigma_w"), data[key], strict=True
            ):
                panels.append(
                    Map(data[grid], data["L"], values, f"noise scale ${label}$", "depth $L$",
                        r"$|\chi_L - 1|$", f"{scheme}, {how}", (1e-3, 1.0), True, y_scale="log")
                )  # fmt: skip
        return panels_figure(panels)

    def judge(self, data: Data) -> Verdict:
        """Widths of the bands at the greatest depth, in sigma and in weight variance."""
        band = {}
        for key, grid in (("theory", "sigma"), ("networks", "coarse")):
            sigma = data[grid]
            # networks fluctuate from layer to layer: the last layers of the map count together
            rows = slice(-1, None) if key == "theory" else slice(-10, None)
            for scheme, values in zip(("D + Z", "Gaussian"), data[key], strict=True):
                near = np.mean(values[rows], axis=0) < NEAR
                band[f"{scheme}, {key}"] = float(np.sum(near * np.gradient(sigma)))
                band[f"{scheme}, {key}, in weight variance"] = float(
                    np.sum(near * np.gradient(sigma**2))
                )
        theory, network = (
            [band[f"{scheme}, {key}{unit}"] for unit in ("", ", in weight variance")
             for scheme in ("D + Z", "Gaussian")]
            for key in ("theory", "networks")
        )  # fmt: skip
        words = (
            f"|chi - 1| < {NEAR} over {theory[0]:.2f} in sigma_z against {theory[1]:.2f} in "
            f"sigma_w in mean field, {network[0]:.2f} against {network[1]:.2f} in networks; over "
            f"the weight variance, on which alone the formula depends, {theory[2]:.2f} against "
            f"{theory[3]:.2f} in mean field but {network[2]:.2f} against {network[3]:.2f} in "
            "networks"
        )
        conditions = {
            "broader in mean field": theory[0] > 2 * theory[1],
            "broader in networks": network[0] > 2 * network[1],
            "broader at equal weight variance in mean field": theory[2] > 1.5 * theory[3],
            "broader at equal weight variance in networks": network[2] > 1.5 * network[3],
        }
        return verdict(conditions, words, {f"band of {name}": v for name, v in band.items()})
