"""A health report of an initialisation: will a network of this depth and width train?"""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pinnsig.activations import Activation
from pinnsig.calibration.quadrature import Array
from pinnsig.initializers import Initializer
from pinnsig.signal.backward import gradient_norms
from pinnsig.signal.forward import Profile, log_spaced, measure
from pinnsig.signal.mean_field import chi_map
from pinnsig.signal.network import RandomNetwork
from pinnsig.signal.spread import histogram

GOOD, DOUBTFUL, BAD = "good", "doubtful", "bad"

LAYERS = 60  # about so many layers are measured
# What counts as trouble: rules of thumb, not theorems
DEAD = 1e-3  # root mean square of x^L over sup|f|
FAINT = 1e-2
SATURATED = 1e-2  # mean of f'(h^L)^2 over f'(0)^2
VANISHED, FADED = 1e-3, 1e-1  # gradient norm of the first layer over that of the last, or inverse
ALIKE = 0.99  # correlation of different inputs
IDENTITY, COIN = 0.05, 0.45  # negative rate


@dataclass(frozen=True)
class Health:
    """What an initialisation does to signal and gradient, at its last layer and along the depth.

    Attributes:
        initializer: its text.
        low: smallest activation of the last layer, over sup|f|.
        high: largest, likewise.
        rms: root mean square, likewise.
        spread: normalised entropy of the last layer.
        correlation: mean cosine of the preactivations of different inputs; 0 at the start.
        saturation: mean of f'(h^L)^2 over f'(0)^2: 1 in the linear range, 0 in saturation.
        chi: geometric mean over the layers of the measured gradient amplification.
        chi_mean_field: mean-field chi of the last layer.
        negative_rate: share of units whose sign is not that of their input.
        gradient_ratio: |delta^1| / |delta^L| for the loss 0.5 |x^L|^2, median over the inputs.
        grade: good, doubtful or bad.
        verdict: why, in words.
        profile: forward statistics along the depth.
        chis: measured chi of every layer, shape (L,).
        gradients: |delta^l| / |delta^L|, shape (L,), median over the inputs.
        shares: histogram of the last layer over [-1, 1] sup|f|, and its edges.
    """

    initializer: str
    low: float
    high: float
    rms: float
    spread: float
    correlation: float
    saturation: float
    chi: float
    chi_mean_field: float
    negative_rate: float
    gradient_ratio: float
    grade: str
    verdict: str
    profile: Profile
    chis: Array
    gradients: Array
    shares: tuple[Array, Array]

    def as_dict(self) -> dict[str, Any]:
        """The numbers and words, without what is drawn."""
        drawn = ("profile", "chis", "gradients", "shares")
        return {name: value for name, value in asdict(self).items() if name not in drawn}


def health(
    activation: Activation,
    initializer: Initializer,
    depth: int,
    width: int,
    x: Tensor,
    seed: int = 0,
) -> Health:
    """Send inputs through a fresh network and gradients back, and judge.

    Args:
        activation: f.
        initializer: where the weights come from.
        depth: hidden layers.
        width: units in each.
        x: inputs, shape (M, N_0); float64 for gradients below 1e-38.
        seed: of the weights.

    Raises:
        PinnsigError: depth, width, inputs or initialiser cannot be used.
    """
    activation.require_odd_sigmoid("the health report")
    network = RandomNetwork(activation, initializer, depth, width, seed)
    wanted = set(log_spaced(depth, LAYERS))
    rows, chis, saturation = [], [], 1.0
    last = x
    for layer in network.layers(x):
        last = layer.x
        slope = activation.derivatives(layer.h, 1)[1].double().square().mean(0)
        chis.append((slope * layer.weight.double().square().sum(1)).mean().item())
        saturation = slope.mean().item() / activation.slope**2
        if layer.index in wanted:
            rows.append(measure(layer, x, activation.bound))
    norms = gradient_norms(network, x).double()
    # a gradient that is 0 already in the last layer has vanished
    gradients = torch.nan_to_num(norms / norms[-1], nan=0.0).median(dim=1).values.cpu().numpy()
    scales, last = network.scales, last.double().cpu().numpy()
    profile = Profile(*np.array(rows).T)
    numbers = {
        "low": float(profile.low[-1]) / activation.bound,
        "high": float(profile.high[-1]) / activation.bound,
        "rms": float(np.sqrt(np.mean(last**2))) / activation.bound,
        "spread": float(profile.spread[-1]),
        "correlation": float(profile.correlation[-1]),
        "saturation": saturation,
        "chi": float(np.exp(np.mean(np.log(np.maximum(chis, 1e-300))))),
        "chi_mean_field": float(
            chi_map(
                activation, [scales.weight_variance], [depth], scales.sigma_b,
                x.double().square().mean().item(),
            )[0, 0]
        ),
        "negative_rate": float(profile.negative_rate[-1]),
        "gradient_ratio": float(gradients[0]),
    }  # fmt: skip
    grade, verdict = judge(**numbers, keeps_signs=bool(scales.diagonal))
    return Health(
        initializer=initializer.spec,
        **numbers,
        grade=grade,
        verdict=verdict,
        profile=profile,
        chis=np.array(chis),
        gradients=gradients,
        shares=histogram(last, activation.bound),
    )


def judge(
    *,
    rms: float,
    correlation: float,
    saturation: float,
    gradient_ratio: float,
    negative_rate: float,
    keeps_signs: bool,
    **_: float,
) -> tuple[str, str]:
    """A grade and its reasons in words, by rules of thumb."""
    bad, doubts, notes = [], [], []
    lost = math.inf if gradient_ratio == 0 else max(gradient_ratio, 1 / gradient_ratio)
    how = "vanish" if gradient_ratio < 1 else "explode"
    if not lost < 1 / VANISHED:
        bad.append(f"gradients {how} on their way to the first layer ({gradient_ratio:.1e})")
    elif lost > 1 / FADED:
        doubts.append(f"gradients {how} partly ({gradient_ratio:.1e})")
    if rms < DEAD:
        bad.append(f"the signal dies down to {rms:.1e} of its range")
    elif rms < FAINT:
        doubts.append(f"the signal is faint, {rms:.1e} of its range")
    if saturation < SATURATED:
        bad.append("the units are saturated")
    if correlation > ALIKE:
        doubts.append(f"different inputs become alike (correlation {correlation:.3f})")
    if keeps_signs and negative_rate > COIN:
        notes.append(f"the signs of the input are forgotten (negative rate {negative_rate:.2f})")
    if keeps_signs and negative_rate < IDENTITY:
        notes.append(f"nearly every sign is kept (negative rate {negative_rate:.2f})")
    grade = BAD if bad else DOUBTFUL if doubts else GOOD
    reasons = [*bad, *doubts, *notes]
    if grade == GOOD:
        reasons.insert(0, "signal and gradient come through")
    return grade, "; ".join(reasons)
