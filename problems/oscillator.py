"""The quantum harmonic oscillator: an eigenvalue is found together with its function."""

import torch
from torch import Tensor

from pinnsig.problem import Box, Choice, Coefficient, Dirichlet, Problem


class Oscillator(Problem):
    """-u'' + x² u = E u on x >= 0, where the energy E is to be found with u.

    u dies away, u(8) = 0, and is even or odd: u(0) = 1 and u'(0) = 0, or u(0) = 0 and u'(0) = 1,
    which also makes it one of its multiples. Lengths are in units of sqrt(hbar / (m omega)),
    energies of hbar omega / 2: E = 1 for the ground level, E = 3 for the first one, the lowest odd
    level (Schroedinger 1926). E, which starts below both, becomes the lowest level of its kind; the
    equation holds for higher ones, too. The true u(8) is below 1e-13, so that the end at 8 in the
    place of none moves E by less than 1e-20.
    """

    domain = Box(x=(0.0, 8.0))
    level = Choice("ground", "first")
    E = Coefficient(0.5, above=0.0, learn=True, true=lambda level: {"ground": 1, "first": 3}[level])

    def residual(self, u, x):
        """-u'' + (x² - E) u."""
        return -u.xx + (x**2 - self.E) * u

    def conditions(self):
        """Even or odd, of a given size, and nothing far away."""
        odd = float(self.level == "first")
        yield Dirichlet(on="x-", name="centre", u=1 - odd, u_x=odd)
        yield Dirichlet(on="x+", name="far", u=0.0)

    def hard_ansatz(self, n, x):
        """(1 - x² / 64) (1 + n x² / (1 + x²)), or x times it."""
        even = (1 - x**2 / 64) * (1 + x**2 / (1 + x**2) * n)
        return x * even if self.level == "first" else even

    def solution(self, x: Tensor) -> Tensor:
        """exp(-x² / 2), or x times it, shape (N,)."""
        even = torch.exp(-(x**2) / 2)
        return x * even if self.level == "first" else even
