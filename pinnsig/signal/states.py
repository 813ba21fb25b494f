"""The health of any registered network, from its states and the gradients in them."""

import math

import numpy as np
import torch
from torch import Tensor

from pinnsig.initializers import Initializer
from pinnsig.initializers.base import standard_normal
from pinnsig.networks import Network
from pinnsig.signal.forward import Profile, correlation, sign_changes
from pinnsig.signal.report import Health, judge
from pinnsig.signal.spread import histogram, spread


def network_health(network: Network, initializer: Initializer, x: Tensor) -> Health:
    """Send inputs through an initialised network and gradients back, and judge.

    What a signal is depends on the network: its `states`, x^1 to x^L, made of its embedded inputs,
    x^0. `low`, `high`, `rms` and the histograms are over the largest of sup|f| and their sizes; the
    variance, the correlation and the gradients are those of the states. A signal may have several
    ways to the last layer, which all begin at x^0: so the gradient ratio is
    |dloss/dx^0| / |dloss/dx^L| for a linear loss v . x^L with v ~ N(0, 1), and chi_l the mean of
    |dloss/dx^(l-1)|^2 over that of |dloss/dx^l|^2. There is no mean field of it, and no saturation:
    both are NaN.

    Args:
        network: with its weights.
        initializer: that drew them.
        x: inputs, shape (M, N_0), of the network's type.
    """
    with torch.no_grad():
        x = network.embed(x).clone()
    x.requires_grad_()
    with torch.enable_grad():
        states = list(network.states(x))
        cotangent = standard_normal((*states[-1].shape,), torch.Generator().manual_seed(0))
        loss = (cotangent.to(x) * states[-1]).sum()
        gradients = torch.autograd.grad(
            loss, [x, *states], allow_unused=True, materialize_grads=True
        )
    norms = torch.stack([g.double().norm(dim=1) for g in gradients]).cpu().numpy()
    values = [state.detach() for state in states]
    largest = max(float(value.abs().max()) for value in values)
    bound = max(network.activation.bound, largest)
    bound = bound if math.isfinite(bound) else largest or 1.0
    rows = [
        (i, float(v.min()), float(v.max()), float(v.double().square().mean()),
         spread(v.double().cpu().numpy(), bound), correlation(v),
         sign_changes(x.detach(), v).mean().item())
        for i, v in enumerate(values, start=1)
    ]  # fmt: skip
    profile = Profile(*np.array(rows).T)
    with np.errstate(all="ignore"):
        ratios = np.nan_to_num(norms / norms[-1], nan=0.0)
        squares = np.square(norms).mean(axis=1)
        chis = np.nan_to_num(squares[:-1] / squares[1:], nan=0.0)
    of_layers = np.median(ratios, axis=1)
    numbers = {
        "low": float(profile.low[-1]) / bound,
        "high": float(profile.high[-1]) / bound,
        "rms": math.sqrt(float(profile.variance[-1])) / bound,
        "spread": float(profile.spread[-1]),
        "correlation": float(profile.correlation[-1]),
        "saturation": math.nan,
        "chi": float(np.exp(np.mean(np.log(np.maximum(chis, 1e-300))))),
        "chi_mean_field": math.nan,
        "negative_rate": float(profile.negative_rate[-1]),
        "gradient_ratio": float(of_layers[0]),
    }
    scales = initializer.scales(network.activation, network.signal_depth)
    keeps_signs = network.keeps_signs and bool(scales.diagonal)
    grade, verdict = judge(**numbers, keeps_signs=keeps_signs)
    return Health(
        initializer=initializer.spec,
        **numbers,
        grade=grade,
        verdict=verdict,
        profile=profile,
        chis=chis,
        gradients=of_layers[1:],
        shares=histogram(values[-1].double().cpu().numpy(), bound),
    )
