"""The schemes: calibrated W = D + Z, edge of chaos, Xavier, He, orthogonal, and given noise.

To add one, write a class under `register_initializer`.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from pinnsig.activations import Activation
from pinnsig.calibration import (
    edge_of_chaos,
    sigma_star,
    target_negative_rate,
)
from pinnsig.initializers.base import (
    Initializer,
    Scales,
    register_initializer,
    standard_normal,
)


@register_initializer
@dataclass(frozen=True)
class Calibrated(Initializer):
    """W = D + Z with D_ij = omega + epsilon where i = j (mod N_in), Z_ij ~ N(0, sigma_z^2 / N_in).

    sigma_z = sigma*(p, L, omega) for L hidden layers, the scale at which the scalar surrogate flips
    its sign with probability p; see `pinnsig.calibration.sigma_star`.

    Attributes:
        p: target negative rate in [0, 1/2); None ("auto") for the rule p(L) of the paper.
        epsilon: offset of the diagonal from omega (Theorem 4.6).
        sigma_b: standard deviation of the biases.

    Raises:
        InitializerError: a parameter is out of range.

    Source: paper, section 4.2.
    """

    name: ClassVar[str] = "calibrated"
    p: float | None = 0.49
    epsilon: float = 0.0
    sigma_b: float = 0.0

    def __post_init__(self) -> None:
        self._require(self.p is None or 0 <= self.p < 0.5, "p", "in [0, 0.5)")
        self._require(math.isfinite(self.epsilon), "epsilon", "finite")
        self._require(0 <= self.sigma_b < math.inf, "sigma_b", ">= 0 and finite")

    def scales(self, activation: Activation, depth: int) -> Scales:
        """sigma_z = sigma*(p, depth, omega).

        Raises:
            ActivationError: the activation is not odd-sigmoid.
        """
        _require_odd_sigmoid(self, activation)
        p, omega = target_negative_rate(depth) if self.p is None else self.p, activation.omega
        return Scales(p, omega + self.epsilon, sigma_star(p, depth, omega), sigma_b=self.sigma_b)

    def weight(self, n_out: int, n_in: int, scales: Scales, generator: torch.Generator) -> Tensor:
        """D + Z."""
        return _diagonal_and_noise(n_out, n_in, scales, generator)


def _require_odd_sigmoid(initializer: Initializer, activation: Activation) -> None:
    cure = f"take init = {activation.suits}, or another that does not need omega"
    activation.require_odd_sigmoid(f"init = {initializer.name}", cure)


def _diagonal_and_noise(
    n_out: int, n_in: int, scales: Scales, generator: torch.Generator
) -> Tensor:
    weight = standard_normal((n_out, n_in), generator) * (scales.noise / math.sqrt(n_in))
    # i = j (mod N_in) with j < N_in: one entry in each row
    i = torch.arange(n_out)
    weight[i, i % n_in] += scales.diagonal or 0.0
    return weight


@dataclass(frozen=True)
class _Gaussian(Initializer):
    """W_ij ~ N(0, sigma_w^2 / N_in), b_i ~ N(0, sigma_b^2)."""

    sigma_b: float = 0.0

    def __post_init__(self) -> None:
        self._require(0 <= self.sigma_b < math.inf, "sigma_b", ">= 0 and finite")

    @abstractmethod
    def _sigma_w(self, activation: Activation) -> float: ...

    def scales(self, activation: Activation, depth: int) -> Scales:  # noqa: ARG002
        """sigma_w and sigma_b, at any depth."""
        return Scales(sigma_w=self._sigma_w(activation), sigma_b=self.sigma_b)

    def weight(self, n_out: int, n_in: int, scales: Scales, generator: torch.Generator) -> Tensor:
        """sigma_w / sqrt(N_in) times standard normal noise."""
        return standard_normal((n_out, n_in), generator) * (scales.noise / math.sqrt(n_in))


@register_initializer
@dataclass(frozen=True)
class EdgeOfChaos(_Gaussian):
    """Gaussian, with sigma_w from `pinnsig.calibration.edge_of_chaos` for the given sigma_b.

    Attributes:
        sigma_b: the point of the curve; at 0, sigma_w = omega.
        nodes: Gauss-Hermite order; None ("auto") for as many nodes as needed.

    Raises:
        InitializerError: a parameter is out of range.

    Source: Schoenholz et al. 2017; Hayou et al. 2019; paper, section 3.
    """

    name: ClassVar[str] = "eoc"
    sigma_b: float = 0.2
    nodes: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(self.nodes is None or self.nodes >= 1, "nodes", "at least 1")

    def _sigma_w(self, activation: Activation) -> float:
        _require_odd_sigmoid(self, activation)
        return edge_of_chaos(activation, self.sigma_b, self.nodes).sigma_w


@register_initializer
@dataclass(frozen=True)
class Xavier(_Gaussian):
    """W_ij ~ N(0, 2 / (N_in + N_out)); sigma_w = 1 in square layers.

    Source: Glorot, Bengio 2010, in its Gaussian form.
    """

    name: ClassVar[str] = "xavier"

    def _sigma_w(self, activation: Activation) -> float:  # noqa: ARG002
        return 1.0

    def weight(self, n_out: int, n_in: int, scales: Scales, generator: torch.Generator) -> Tensor:
        """sigma_w sqrt(2 / (N_in + N_out)) times standard normal noise."""
        return standard_normal((n_out, n_in), generator) * (
            scales.noise * math.sqrt(2 / (n_in + n_out))
        )


@register_initializer
@dataclass(frozen=True)
class He(_Gaussian):
    """W_ij ~ N(0, 2 / N_in), that is, sigma_w = sqrt(2).

    Source: He et al. 2015.
    """

    name: ClassVar[str] = "he"

    def _sigma_w(self, activation: Activation) -> float:  # noqa: ARG002
        return math.sqrt(2)


@register_initializer
@dataclass(frozen=True)
class Orthogonal(_Gaussian):
    """W = gain Q with Q a uniformly drawn (semi-)orthogonal matrix; described as sigma_w = gain.

    Attributes:
        sigma_b: standard deviation of the biases.
        gain: None ("auto") for omega, with which the linearised network keeps every norm; for 1
            where the activation has no omega.

    Raises:
        InitializerError: a parameter is out of range.

    Source: Saxe et al. 2014.
    """

    name: ClassVar[str] = "orthogonal"
    gain: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        allowed = self.gain is None or 0 < self.gain < math.inf
        self._require(allowed, "gain", "positive and finite")

    def _sigma_w(self, activation: Activation) -> float:
        if self.gain is not None:
            return self.gain
        return activation.omega if activation.odd_sigmoid else 1.0

    def weight(self, n_out: int, n_in: int, scales: Scales, generator: torch.Generator) -> Tensor:
        """Gain times the Q of a QR factorisation of standard normal noise."""
        weight = torch.empty(n_out, n_in, dtype=torch.float64)
        return nn.init.orthogonal_(weight, gain=scales.noise, generator=generator)


@register_initializer
@dataclass(frozen=True)
class GivenNoise(Initializer):
    """W = D + Z as in the calibrated scheme, with sigma_z given in place of found.

    Attributes:
        sigma: sigma_z.
        epsilon: offset of the diagonal from omega.
        sigma_b: standard deviation of the biases.

    Raises:
        InitializerError: a parameter is out of range.
    """

    name: ClassVar[str] = "given-noise"
    sigma: float = 0.0
    epsilon: float = 0.0
    sigma_b: float = 0.0

    def __post_init__(self) -> None:
        self._require(0 <= self.sigma < math.inf, "sigma", ">= 0 and finite")
        self._require(math.isfinite(self.epsilon), "epsilon", "finite")
        self._require(0 <= self.sigma_b < math.inf, "sigma_b", ">= 0 and finite")

    def scales(self, activation: Activation, depth: int) -> Scales:  # noqa: ARG002
        """The noise as it was given, at any depth.

        Raises:
            ActivationError: the activation is not odd-sigmoid.
        """
        _require_odd_sigmoid(self, activation)
        diagonal = activation.omega + self.epsilon
        return Scales(diagonal=diagonal, sigma_z=self.sigma, sigma_b=self.sigma_b)

    def weight(self, n_out: int, n_in: int, scales: Scales, generator: torch.Generator) -> Tensor:
        """D + Z."""
        return _diagonal_and_noise(n_out, n_in, scales, generator)


@register_initializer
@dataclass(frozen=True)
class Gaussian(_Gaussian):
    """Gaussian, with sigma_w given.

    Attributes:
        sigma_b: standard deviation of the biases.
        sigma_w: W has variance sigma_w^2 / N_in.

    Raises:
        InitializerError: a parameter is out of range.
    """

    name: ClassVar[str] = "gaussian"
    sigma_w: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(0 <= self.sigma_w < math.inf, "sigma_w", ">= 0 and finite")

    def _sigma_w(self, activation: Activation) -> float:  # noqa: ARG002
        return self.sigma_w
