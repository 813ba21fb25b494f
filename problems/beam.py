"""A cantilever beam under a uniform load."""

from torch import Tensor

from pinnsig.problem import Box, Coefficient, Dirichlet, Problem


class Beam(Problem):
    """Euler-Bernoulli beam u_xxxx = q on 0 <= x <= 1, clamped at x = 0 and free at x = 1.

    u(0) = u_x(0) = 0, u_xx(1) = u_xxx(1) = 0: no moment and no force at the free end. u is the
    deflection and q the load over the bending stiffness, -1 as in the examples of Lu, Meng, Mao
    and Karniadakis (2021), DeepXDE. The solution is a polynomial.
    """

    domain = Box(x=(0.0, 1.0))
    q = Coefficient(-1.0)

    def residual(self, u):
        """u_xxxx - q."""
        return u.xxxx - self.q

    def conditions(self):
        """Clamped at the lower end, free at the upper one."""
        yield Dirichlet(on="x-", name="clamped", u=0.0, u_x=0.0)
        yield Dirichlet(on="x+", name="free", u_xx=0.0, u_xxx=0.0)

    def solution(self, x: Tensor) -> Tensor:
        """q (x⁴ / 24 - x³ / 6 + x² / 4), shape (N,)."""
        return self.q * (x**4 / 24 - x**3 / 6 + x**2 / 4)
