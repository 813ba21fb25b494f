"""Steady flow past a cylinder, with its wake."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from pinnsig.problem import Annulus, Coefficient, Dirichlet, PointData, Problem

INNER, OUTER = 0.5, 3.0


class CylinderWake(Problem):
    """Steady incompressible Navier-Stokes equations in the plane around a cylinder of diameter 1.

    u u_x + v u_y + p_x = (u_xx + u_yy) / Re, u v_x + v v_y + p_y = (v_xx + v_yy) / Re and
    u_x + v_y = 0. The fluid rests at the cylinder and streams with u = 1, v = 0 at the radius 3;
    the pressure is 0 at (3, 0). Everything is dimensionless; Re is the Reynolds number by the
    diameter. The relative error of `solution` is below 1e-6 in u
    and v, below 2e-4 in p, for Re = 10.
    """

    domain = Annulus(inner=INNER, outer=OUTER)
    fields = ("u", "v", "p")
    Re = Coefficient(10.0, minimum=1.0, maximum=20.0)

    def residual(self, u, v, p):
        """The balances of momentum along x and y, and of mass."""
        return {
            "momentum_x": u * u.x + v * u.y + p.x - (u.xx + u.yy) / self.Re,
            "momentum_y": u * v.x + v * v.y + p.y - (v.xx + v.yy) / self.Re,
            "mass": u.x + v.y,
        }

    def conditions(self):
        """Rest at the wall, the stream outside, the level of the pressure."""
        yield Dirichlet(on="inner", name="wall", u=0.0, v=0.0)
        yield Dirichlet(on="outer", name="stream", u=1.0, v=0.0)
        yield PointData(name="level", x=[OUTER], y=[0.0], p=[0.0])

    def solution(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """u, v and p by Fourier and Chebyshev's functions, each of shape (N,)."""
        return reference(float(self.Re))(x, y)


class PolarFlow:
    """A flow by its modes in the angle and Chebyshev coefficients along log r.

    Args:
        radial, angular, head: of u_r, u_theta and p + |u|²/2, each of shape (degree + 1, modes);
            cosines, sines and cosines of the multiples of the angle.
    """

    def __init__(self, radial: Tensor, angular: Tensor, head: Tensor) -> None:
        self.radial, self.angular, self.head = radial, angular, head

    def __call__(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """u, v and p at points, each of shape (N,)."""
        parts = zip(x.split(4096), y.split(4096), strict=True)
        found = [self._at(*part) for part in parts]
        u, v, p = (torch.cat(column) for column in zip(*found, strict=True))
        return u, v, p

    def _at(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        r, angle = torch.hypot(x, y), torch.atan2(y, x)
        share = (2 * torch.log(r) - np.log(OUTER * INNER)) / np.log(OUTER / INNER)
        polynomials = [torch.ones_like(share), share]
        while len(polynomials) < len(self.radial):
            polynomials.append(2 * share * polynomials[-1] - polynomials[-2])
        along = torch.stack(polynomials, dim=1)
        turns = angle[:, None] * torch.arange(self.radial.shape[1], dtype=x.dtype)
        cosines, sines = torch.cos(turns), torch.sin(turns)
        radial = (along @ self.radial * cosines).sum(1)
        angular = (along @ self.angular * sines).sum(1)
        head = (along @ self.head * cosines).sum(1)
        cosine, sine = x / r, y / r
        u, v = radial * cosine - angular * sine, radial * sine + angular * cosine
        return u, v, head - (radial**2 + angular**2) / 2


class Polar(NamedTuple):
    """Points in log r and angle, and what differentiates an odd function of the angle there."""

    r: np.ndarray
    share: np.ndarray
    d_r: np.ndarray
    sines: np.ndarray
    cosines: np.ndarray
    modes: np.ndarray


def polar(degree: int, count: int) -> Polar:
    """Return degree + 1 radii, outermost first, and sines of `count` multiples of the angle."""
    share = np.cos(np.pi * np.arange(degree + 1) / degree)
    ends = np.r_[2.0, np.ones(degree - 1), 2.0] * (-1.0) ** np.arange(degree + 1)
    apart = share[:, None] - share + np.eye(degree + 1)
    d_share = np.outer(ends, 1 / ends) / apart  # Trefethen (2000), Spectral Methods, chapter 6
    d_share -= np.diag(d_share.sum(1))
    stretch = np.log(OUTER / INNER) / 2
    r = np.exp(0.5 * np.log(OUTER * INNER) + stretch * share)
    modes = np.arange(1, count + 1)
    angles = modes * np.pi / (count + 1)
    turns = np.outer(angles, modes)
    return Polar(r, share, d_share / (stretch * r)[:, None], np.sin(turns), np.cos(turns), modes)


@lru_cache(maxsize=4)
def reference(Re: float, degree: int = 32, count: int = 28) -> PolarFlow:
    """The numerical solution by collocation of the stream function, and Newton's method.

    The stream function psi is odd in the angle: u_r = psi_theta / r, u_theta = -psi_r, and the
    vorticity w = -(psi_xx + psi_yy) obeys u . grad w = (w_xx + w_yy) / Re.
    """
    g, nu = polar(degree, count), 1.0 / Re
    inverse = np.linalg.inv(g.sines)
    odd, even = (
        g.sines @ np.diag(-(g.modes.astype(float) ** 2)) @ inverse,
        (g.cosines @ np.diag(g.modes) @ inverse),
    )
    identity, turn = np.eye(count), np.kron(np.diag(1 / g.r), even)
    d_r = np.kron(g.d_r, identity)
    laplace = np.kron(g.d_r @ g.d_r + np.diag(1 / g.r) @ g.d_r, identity)
    laplace += np.kron(np.diag(1 / g.r**2), odd)
    twice, d_r_laplace, turn_laplace = laplace @ laplace, d_r @ laplace, turn @ laplace

    first, last = np.arange(count), np.arange(degree * count, (degree + 1) * count)
    ends = np.r_[first, first + count, last, last - count]
    stream = np.sin(g.modes * np.pi / (count + 1))
    held = np.concatenate([np.eye(len(d_r))[first], d_r[first], np.eye(len(d_r))[last], d_r[last]])
    values = np.r_[OUTER * stream, stream, np.zeros(2 * count)]
    psi = np.kron(g.r - INNER**2 / g.r, stream)
    for _ in range(20):
        psi_t, psi_r, w_r, w_t = turn @ psi, d_r @ psi, -(d_r_laplace @ psi), -(turn_laplace @ psi)
        rest = -nu * (twice @ psi) - (psi_t * w_r - psi_r * w_t)
        slope = -nu * twice - w_r[:, None] * turn + psi_t[:, None] * d_r_laplace
        slope += w_t[:, None] * d_r - psi_r[:, None] * turn_laplace
        slope[ends], rest[ends] = held, held @ psi - values
        step = np.linalg.solve(slope, -rest)
        psi += step
        if np.abs(step).max() < 1e-11:
            break

    def grid(values: np.ndarray) -> np.ndarray:
        return values.reshape(degree + 1, count)

    vorticity = -(laplace @ psi)
    radial, angular = turn @ psi, -(d_r @ psi)
    # grad(p + |u|²/2) = (u_theta w - nu / r w_theta, -u_r w + nu w_r)
    around = grid(-radial * vorticity + nu * (d_r @ vorticity))
    head = np.zeros((degree + 1, count + 1))
    head[:, 1:] = -(g.r[:, None] * around) @ inverse.T / g.modes
    # the mean over the angle, by the trapezoidal rule, integrated along r from the outer radius on
    mean = grid(angular * vorticity).sum(1) / (count + 1)
    integrate = g.d_r.copy()
    integrate[0], mean[0] = np.eye(degree + 1)[0], 0.0
    head[:, 0] = np.linalg.solve(integrate, mean)
    modes = grid(psi) @ inverse.T
    radial_modes = np.c_[np.zeros(degree + 1), modes * g.modes / g.r[:, None]]
    angular_modes = np.c_[np.zeros(degree + 1), -(g.d_r @ modes)]
    chebyshev = np.linalg.inv(np.polynomial.chebyshev.chebvander(g.share, degree))
    tensors = [torch.from_numpy(chebyshev @ m) for m in (radial_modes, angular_modes, head)]
    flow = PolarFlow(*tensors)
    level = flow(*(torch.tensor([at], dtype=torch.float64) for at in (OUTER, 0.0)))[2]
    tensors[2][0, 0] -= float(level)
    return PolarFlow(*tensors)
