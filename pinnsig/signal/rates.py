"""Negative rates by Monte Carlo: of the scalar surrogate, and of whole networks."""

import math
from dataclasses import dataclass

import torch

from pinnsig.activations import Activation
from pinnsig.core.errors import SignalError
from pinnsig.core.seeds import weight_generator
from pinnsig.signal.forward import sign_changes
from pinnsig.signal.maps import normal_gains


@dataclass(frozen=True)
class Rate:
    """An estimate of a probability and its standard error."""

    value: float
    error: float


def surrogate_rate(
    sigma: float, depth: int, omega: float = 1.0, samples: int = 100_000, seed: int = 0
) -> Rate:
    """P(x_L < 0 | x_0 > 0) of the surrogate x -> f(a x), a ~ N(omega, sigma^2), for every f in F.

    The closed form is `pinnsig.calibration.negative_rate`.
    """
    generator = weight_generator(seed)
    negative = torch.zeros(samples, dtype=torch.bool)
    for _ in range(depth):
        negative ^= normal_gains(omega, sigma, (samples,), generator) < 0
    value = negative.double().mean().item()
    return Rate(value, math.sqrt(value * (1 - value) / samples))


@torch.no_grad()
def network_rates(
    activation: Activation,
    sigma_z: float,
    depth: int,
    width: int,
    networks: int = 1000,
    seed: int = 0,
    diagonal: float | None = None,
    input_scale: float = 1.0,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
) -> list[Rate]:
    """The negative rate of networks W = D + Z after 1 to L layers.

    Of Z only Z x enters, and given x its entries are independent N(0, sigma_z^2 |x|^2 / N). They
    are drawn as such, which costs N numbers a layer in place of N^2 and has the same law, so that
    each of many networks meets one input, x_0 ~ N(0, input_scale^2 I).

    Args:
        activation: f.
        sigma_z: noise scale.
        depth: L.
        width: N.
        networks: how many; the standard error is that between networks.
        seed: of inputs and noise.
        diagonal: the entries of D; None for omega.
        input_scale: of the inputs; where it stands against omega sup|f| matters to the rate.
        dtype: float32 or float64.
        device: where to compute; the seed gives other draws on another device.

    Returns:
        The rates of layers 1 to L.

    Raises:
        SignalError: depth or width < 1, fewer than two networks, or sigma_z < 0.

    Source: paper, appendix B.4 (FFNN-driven negative rate).
    """
    if depth < 1 or width < 1 or networks < 2 or not sigma_z >= 0:
        raise SignalError(
            "a rate needs depth and width >= 1, two networks and sigma_z >= 0, not "
            f"depth {depth}, width {width}, {networks} networks and sigma_z {sigma_z}"
        )
    generator = torch.Generator(device).manual_seed(weight_generator(seed).initial_seed())
    a = activation.omega if diagonal is None else diagonal

    def normal() -> torch.Tensor:
        return torch.randn((networks, width), generator=generator, dtype=dtype, device=device)

    x = start = normal().mul_(input_scale)
    rates = []
    for _ in range(depth):
        # N(0, 1) noise gets the root mean square of x
        noise = normal().mul_(sigma_z * x.square().mean(1, keepdim=True).sqrt())
        x = activation.derivatives(noise.add_(x, alpha=a), 0)[0]
        changed = sign_changes(start, x)
        rates.append(Rate(changed.mean().item(), changed.std().item() / math.sqrt(networks)))
    return rates
