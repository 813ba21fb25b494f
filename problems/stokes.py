"""Stokes flow of two streams that meet: creeping flow in the plane."""

from torch import Tensor

from pinnsig.problem import Box, Coefficient, Dirichlet, Problem


class Stokes(Problem):
    """Creeping flow with velocity (u, v) and pressure p, where two streams meet and turn aside.

    p_x = mu (u_xx + u_yy), p_y = mu (v_xx + v_yy) and u_x + v_y = 0 on -1 <= x, y <= 1. The
    velocity is given all around, the pressure where x is largest. Everything is dimensionless; mu
    is the viscosity. The solution is a polynomial. Source: Elman, Silvester and Wathen (2014),
    Finite Elements and Fast Iterative Solvers, example 3.1.4.
    """

    domain = Box(x=(-1.0, 1.0), y=(-1.0, 1.0))
    fields = ("u", "v", "p")
    mu = Coefficient(1.0, above=0.0)

    def residual(self, u, v, p):
        """The balances of force along x and y, and of mass."""
        return {
            "force_x": p.x - self.mu * (u.xx + u.yy),
            "force_y": p.y - self.mu * (v.xx + v.yy),
            "mass": u.x + v.y,
        }

    def conditions(self):
        """The velocity all around, the pressure on one side."""
        u, v, p = (lambda x, y, i=i: self.solution(x, y)[i] for i in range(3))
        yield Dirichlet(on=("x", "y"), name="velocity", u=u, v=v)
        yield Dirichlet(on="x+", name="level", p=p)

    def solution(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """u = 20 x y³, v = 5 (x⁴ - y⁴) and p = mu (60 x² y - 20 y³), each of shape (N,)."""
        return 20 * x * y**3, 5 * (x**4 - y**4), self.mu * (60 * x**2 * y - 20 * y**3)
