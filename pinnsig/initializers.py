"""Initialisers: each fills a network from a `torch.Generator`, and says with which numbers.

All draws are float64 on the CPU and then cast, so that runs of any precision and device start from
the same weights. To add an initialiser, write one class under `register_initializer`.
"""

import difflib
import math
from abc import ABC, abstractmethod
from dataclasses import Field, asdict, dataclass, fields
from types import NoneType
from typing import Any, ClassVar, TypeVar, get_args

import torch
from torch import Tensor, nn

from pinnsig.activations import Activation
from pinnsig.calibration import (
    default_learning_rate,
    edge_of_chaos,
    layerwise_chi,
    learning_rate_band,
    sigma_star,
    target_negative_rate,
)
from pinnsig.errors import InitializerError
from pinnsig.networks import FFNN


@dataclass(frozen=True)
class Scales:
    """What an initialiser draws from, for one activation and depth; None where it does not apply.

    Attributes:
        p: target negative rate.
        diagonal: the nonzero entries of D.
        sigma_z: Z has variance sigma_z^2 / N_in.
        sigma_w: W has variance sigma_w^2 / N_in (in square layers, for Xavier and Orthogonal).
        sigma_b: standard deviation of the biases.
    """

    p: float | None = None
    diagonal: float | None = None
    sigma_z: float | None = None
    sigma_w: float | None = None
    sigma_b: float = 0.0

    @property
    def noise(self) -> float:
        """sigma_z or sigma_w, whichever applies."""
        return (self.sigma_z or 0.0) + (self.sigma_w or 0.0)

    @property
    def weight_variance(self) -> float:
        """Expected sum of squares of a row of a square weight matrix, for the mean field."""
        return (self.diagonal or 0.0) ** 2 + self.noise**2


@dataclass(frozen=True, kw_only=True)
class Description(Scales):
    """The numbers of an initialisation, for people and run records.

    `chi` is the mean-field gradient gain of the last hidden layer, for inputs of unit variance.
    """

    omega: float
    chi: float
    learning_rate: float
    band: tuple[float, float]

    def as_dict(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self)


@dataclass(frozen=True)
class Initializer(ABC):
    """Base of the initialisers; the dataclass fields are its parameters."""

    name: ClassVar[str]

    @abstractmethod
    def scales(self, activation: Activation, depth: int) -> Scales:
        """The numbers used for an activation and `depth` hidden layers."""

    @abstractmethod
    def weight(self, n_out: int, n_in: int, scales: Scales, generator: torch.Generator) -> Tensor:
        """One weight matrix, float64 of shape (n_out, n_in)."""

    def fill(self, network: FFNN, generator: torch.Generator) -> None:
        """Overwrite all weights and biases of `network`, from the CPU generator.

        Raises:
            InitializerError: the generator is not on the CPU.
            CalibrationError: the parameters have no solution for the network's activation.
        """
        if generator.device.type != "cpu":
            raise InitializerError(f"the generator must be on the cpu, not on {generator.device}")
        scales = self.scales(network.activation, network.depth)
        with torch.no_grad():
            for layer in network.linears:
                n_out, n_in = layer.weight.shape
                layer.weight.copy_(self.weight(n_out, n_in, scales, generator))
                if scales.sigma_b:
                    layer.bias.copy_(scales.sigma_b * _noise((n_out,), generator))
                else:
                    layer.bias.zero_()

    def describe(self, activation: Activation, depth: int) -> Description:
        """The numbers used, with chi and the learning rates that suit the activation.

        Raises:
            CalibrationError: the parameters have no solution for this activation or depth.
        """
        scales = self.scales(activation, depth)
        chi = layerwise_chi(activation, depth, scales.weight_variance, scales.sigma_b)
        return Description(
            **asdict(scales),
            omega=activation.omega,
            chi=float(chi[-1]),
            learning_rate=default_learning_rate(activation.omega),
            band=learning_rate_band(activation.omega),
        )

    @property
    def spec(self) -> str:
        """The text from which `parse_initializer` makes this initialiser again."""
        texts = []
        for field in fields(self):
            value = getattr(self, field.name)
            text = "auto" if value is None else repr(value).removesuffix(".0")
            texts.append(f"{field.name}={text}")
        return f"{self.name}:{','.join(texts)}"

    def _require(self, allowed: bool, parameter: str, rule: str) -> None:
        if not allowed:
            value = getattr(self, parameter)
            raise InitializerError(f"{self.name}: {parameter} must be {rule}, not {value}")


_Class = TypeVar("_Class", bound=Initializer)

INITIALIZERS: dict[str, type[Initializer]] = {}
"""The known initialisers by name."""


def register_initializer(cls: type[_Class]) -> type[_Class]:
    """Class decorator: make an initialiser known under its `name`.

    Raises:
        InitializerError: the name belongs to another class.
    """
    if INITIALIZERS.setdefault(cls.name, cls) is not cls:
        raise InitializerError(f"an initialiser named {cls.name!r} is already registered")
    return cls


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
        """sigma_z = sigma*(p, depth, omega)."""
        p, omega = target_negative_rate(depth) if self.p is None else self.p, activation.omega
        return Scales(p, omega + self.epsilon, sigma_star(p, depth, omega), sigma_b=self.sigma_b)

    def weight(self, n_out: int, n_in: int, scales: Scales, generator: torch.Generator) -> Tensor:
        """D + Z."""
        weight = _noise((n_out, n_in), generator) * (scales.noise / math.sqrt(n_in))
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
        return _noise((n_out, n_in), generator) * (scales.noise / math.sqrt(n_in))


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
        return _noise((n_out, n_in), generator) * (scales.noise * math.sqrt(2 / (n_in + n_out)))


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
        gain: None ("auto") for omega, with which the linearised network keeps every norm.

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
        return activation.omega if self.gain is None else self.gain

    def weight(self, n_out: int, n_in: int, scales: Scales, generator: torch.Generator) -> Tensor:
        """Gain times the Q of a QR factorisation of standard normal noise."""
        weight = torch.empty(n_out, n_in, dtype=torch.float64)
        return nn.init.orthogonal_(weight, gain=scales.noise, generator=generator)


def parse_initializer(spec: str, **overrides: Any) -> Initializer:
    """Make an initialiser from text such as `calibrated:p=0.3,epsilon=0.1` or `eoc`.

    Args:
        spec: a name of `INITIALIZERS`, with parameters after a colon; "auto" stands for None.
        overrides: parameters that replace those of the text; values or text.

    Raises:
        InitializerError: the name, a parameter or a value is not known; one line says what is.
    """
    name, _, listed = spec.partition(":")
    name = name.strip()
    if name not in INITIALIZERS:
        raise InitializerError(_unknown("initialiser", name, list(INITIALIZERS)))
    cls = INITIALIZERS[name]
    given: dict[str, Any] = {}
    for item in filter(None, (part.strip() for part in listed.split(","))):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals:
            raise InitializerError(f"{name}: parameters are written name=value, not {item!r}")
        if key in given:
            raise InitializerError(f"{name}: {key} is given twice")
        given[key] = value
    known = {field.name: field for field in fields(cls)}
    given |= overrides
    for key in given:
        if key not in known:
            raise InitializerError(_unknown(f"parameter of {name}", key, list(known)))
    return cls(**{key: _value(name, known[key], value) for key, value in given.items()})


def _value(name: str, field: Field[Any], value: Any) -> float | int | None:
    """Read a parameter's value as its annotation says."""
    kinds = get_args(field.type) or (field.type,)
    if NoneType in kinds and value in (None, "auto"):
        return None
    wanted = int if int in kinds else float
    try:
        number = wanted(value)
        if isinstance(value, bool) or (not isinstance(value, str) and number != value):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        what = "a whole number" if wanted is int else "a number"
        auto = ' or "auto"' if NoneType in kinds else ""
        raise InitializerError(
            f"{name}: {field.name} must be {what}{auto}, not {value!r}"
        ) from None
    return number


def _unknown(what: str, given: str, known: list[str]) -> str:
    close = difflib.get_close_matches(given, known, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"unknown {what} {given!r}; {hint}known: {', '.join(known)}"


def _noise(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    return torch.randn(shape, generator=generator, dtype=torch.float64)
