"""The scheme for networks of sines."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from pinnsig.activations import Activation
from pinnsig.initializers.base import Initializer, Scales, register_initializer, uniform


@register_initializer
@dataclass(frozen=True)
class SirenUniform(Initializer):
    """W ~ U(-sqrt(6 / N_in), sqrt(6 / N_in)), that is, sigma_w = sqrt(2).

    After it preactivations of sines of wide layers are N(0, 1) at any depth. The network `siren`
    divides by its omega_0, and draws its first layer and its biases by laws of their own.

    Source: Sitzmann et al. 2020, section 3.2.
    """

    name: ClassVar[str] = "siren"

    def scales(self, activation: Activation, depth: int) -> Scales:  # noqa: ARG002
        """sigma_w, at any depth."""
        return Scales(sigma_w=math.sqrt(2))

    def weight(self, n_out: int, n_in: int, scales: Scales, generator: torch.Generator) -> Tensor:
        """Uniform noise of variance sigma_w^2 / N_in."""
        return uniform((n_out, n_in), scales.noise * math.sqrt(3 / n_in), generator)
