"""An ordinary differential equation of second order, from its initial values."""

import math

import torch

from pinnsig.problem import Box, Coefficient, Initial, Problem


class Template(Problem):
    """Damped oscillator u'' + 2 d w u' + w² u = 0, let go at u = 1."""

    domain = Box(t=(0.0, 4.0))  # one coordinate: an ODE

    w = Coefficient(2.0, above=0.0)  # angular frequency without damping
    d = Coefficient(0.1, minimum=0.0, maximum=0.99)  # share of the critical damping

    def residual(self, u):
        """u'' + 2 d w u' + w² u."""
        return u.tt + 2 * self.d * self.w * u.t + self.w**2 * u

    def conditions(self):
        """Place and speed at the start."""
        yield Initial(u=1.0, u_t=0.0)

    def solution(self, t):
        """exp(-d w t) (cos(v t) + d w sin(v t) / v) with v = w sqrt(1 - d²)."""
        rate = self.d * self.w
        v = self.w * math.sqrt(1.0 - self.d**2)
        return torch.exp(-rate * t) * (torch.cos(v * t) + rate / v * torch.sin(v * t))
