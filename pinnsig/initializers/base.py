"""What an initialiser is: it fills a network, and says with which numbers.

All draws are float64 on the CPU and then cast, so that runs of any precision and device start from
the same weights.
"""

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Protocol, TypeVar

import torch
from torch import Tensor

from pinnsig.activations import Activation
from pinnsig.calibration import layerwise_chi, learning_rate_band, suited_learning_rate
from pinnsig.core.errors import InitializerError
from pinnsig.core.registry import Registry


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

    `chi` is the mean-field gradient gain of the last hidden layer, for inputs of unit variance;
    `omega` and `band` are None for an activation that is not odd-sigmoid.
    """

    omega: float | None
    chi: float
    learning_rate: float
    band: tuple[float, float] | None

    def as_dict(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self)


class Initializable(Protocol):
    """What an initialiser can fill: it knows which of its weights are drawn, and how."""

    def initialize(self, initializer: "Initializer", generator: torch.Generator) -> None:
        """Overwrite all its weights and biases with what the initialiser draws."""


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

    def fill(self, network: Initializable, generator: torch.Generator) -> None:
        """Overwrite all weights and biases of `network`, from the CPU generator.

        Raises:
            InitializerError: the generator is not on the CPU.
            CalibrationError: the parameters have no solution for the network's activation.
        """
        if generator.device.type != "cpu":
            raise InitializerError(f"the generator must be on the cpu, not on {generator.device}")
        with torch.no_grad():
            network.initialize(self, generator)

    def draw(
        self, n_out: int, n_in: int, scales: Scales, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """The next layer's weights and biases, float64 of shapes (n_out, n_in) and (n_out,)."""
        weight = self.weight(n_out, n_in, scales, generator)
        if not scales.sigma_b:
            return weight, torch.zeros(n_out, dtype=torch.float64)
        return weight, scales.sigma_b * standard_normal((n_out,), generator)

    def describe(self, activation: Activation, depth: int) -> Description:
        """The numbers used, with chi and the learning rates that suit the activation.

        Raises:
            CalibrationError: the parameters have no solution for this activation or depth.
        """
        scales = self.scales(activation, depth)
        chi = layerwise_chi(activation, depth, scales.weight_variance, scales.sigma_b)
        return Description(
            **asdict(scales),
            omega=activation.omega if activation.odd_sigmoid else None,
            chi=float(chi[-1]),
            learning_rate=suited_learning_rate(activation),
            band=learning_rate_band(activation.omega) if activation.odd_sigmoid else None,
        )

    @property
    def spec(self) -> str:
        """The text from which `parse_initializer` makes this initialiser again."""
        texts = []
        for field in fields(self):
            value = getattr(self, field.name)
            text = "auto" if value is None else repr(value).removesuffix(".0")
            texts.append(f"{field.name}={text}")
        return f"{self.name}:{','.join(texts)}" if texts else self.name

    def _require(self, allowed: bool, parameter: str, rule: str) -> None:
        if not allowed:
            value = getattr(self, parameter)
            raise InitializerError(f"{self.name}: {parameter} must be {rule}, not {value}")


_Class = TypeVar("_Class", bound=Initializer)

INITIALIZERS: Registry[type[Initializer]] = Registry("initialiser", InitializerError)
"""The known initialisers by name."""


def register_initializer(cls: type[_Class]) -> type[_Class]:
    """Class decorator: make an initialiser known under its `name`.

    Raises:
        InitializerError: the name belongs to another class.
    """
    INITIALIZERS.register(cls.name, cls)
    return cls


def standard_normal(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Noise N(0, 1), float64 on the CPU."""
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def uniform(shape: tuple[int, ...], bound: float, generator: torch.Generator) -> Tensor:
    """Noise U(-bound, bound), float64 on the CPU."""
    return (2 * torch.rand(shape, generator=generator, dtype=torch.float64) - 1) * bound
