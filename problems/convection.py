"""A wave that is carried around a circle."""

import math

import torch
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Initial, Problem


class Convection(Problem):
    """Convection u_t + beta u_x = 0, periodic on 0 <= x <= 2 pi, with u(x, 0) = sin(x).

    Everything is dimensionless; beta is the speed. Source: Krishnapriyan, Gholami, Zhe, Kirby and
    Mahoney (2021), Characterizing possible failure modes in physics-informed neural networks, with
    beta = 30. The network sees x as sin(x) and cos(x), so that it is periodic exactly and no
    condition has to say so. The solution is a closed form.
    """

    domain = Box(x=(0.0, 2 * math.pi), t=(0.0, 1.0))
    beta = Coefficient(30.0)

    def residual(self, u):
        """u_t + beta u_x."""
        return u.t + self.beta * u.x

    def conditions(self):
        """A sine wave to start from."""
        yield Initial(u=lambda x: torch.sin(x))

    def features(self, x, t) -> tuple[Tensor, ...]:
        """A point of the circle, and the time."""
        return torch.sin(x), torch.cos(x), t

    def solution(self, x: Tensor, t: Tensor) -> Tensor:
        """sin(x - beta t), shape (N,)."""
        return torch.sin(x - self.beta * t)


class Advection(Convection):
    """`Convection` with beta = 100, sixteen rounds: u_t + beta u_x = 0, u(x, 0) = sin(x).

    Source: Wang, Sankaran, Wang and Perdikaris (2023), An expert's guide to training
    physics-informed neural networks. Whatever goes round a circle is back after the time
    2 pi / beta, so that the network sees the time as sin(beta t) and cos(beta t), too.
    """

    beta = Coefficient(100.0)

    def features(self, x, t) -> tuple[Tensor, ...]:
        """A point of the circle, and how far a round has come."""
        turn = self.beta * t
        return torch.sin(x), torch.cos(x), torch.sin(turn), torch.cos(turn)
