"""Flow in a square cavity whose lid moves."""

from functools import lru_cache

import numpy as np
import torch
from numpy.polynomial import Polynomial, legendre
from scipy.linalg import eigh
from torch import Tensor

from pinnsig.problem import Box, Coefficient, Dirichlet, PointData, Problem


class Cavity(Problem):
    """Steady incompressible Navier-Stokes equations in the plane, for velocity (u, v), pressure p.

    u u_x + v u_y + p_x = (u_xx + u_yy) / Re, u v_x + v v_y + p_y = (v_xx + v_yy) / Re and
    u_x + v_y = 0 on the unit square. The fluid rests at the walls; the lid, y = 1, moves with
    u = 16 x² (1 - x)², which leaves nothing singular at its corners, as in Shen (1991), Hopf
    bifurcation of the unsteady regularized driven cavity flow. The pressure is zero in the corner
    x = y = 0. Everything is dimensionless; Re is the Reynolds number. The reference is a
    Galerkin solution by polynomials; up to Re = 400 its error is below 3e-7 in u and v, and below
    1e-5 in p, which has the corners' weak singularities (Moffatt 1964).
    """

    domain = Box(x=(0.0, 1.0), y=(0.0, 1.0))
    fields = ("u", "v", "p")
    Re = Coefficient(100.0, above=0.0, maximum=400.0)

    def residual(self, u, v, p):
        """The balances of momentum along x and y, and of mass."""
        return {
            "momentum_x": u * u.x + v * u.y + p.x - (u.xx + u.yy) / self.Re,
            "momentum_y": u * v.x + v * v.y + p.y - (v.xx + v.yy) / self.Re,
            "mass": u.x + v.y,
        }

    def conditions(self):
        """Walls at rest, a moving lid, and the pressure at one point."""
        yield Dirichlet(on=("x", "y-"), name="walls", u=0.0, v=0.0)
        yield Dirichlet(on="y+", name="lid", u=lid, v=0.0)
        yield PointData(name="level", x=[0.0], y=[0.0], p=[0.0])

    def hard_ansatz(self, n, p, x, y):
        """The velocity of the stream function (16 x (1 - x) y (1 - y))² n + lid(x) y² (y - 1)."""
        stream = (16 * x * (1 - x) * y * (1 - y)) ** 2 * n + lid(x) * y**2 * (y - 1)
        return stream.y, -stream.x, p

    def solution(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """u, v and p, each of shape (N,)."""
        return reference(float(self.values()["Re"]))(x, y)


class Cavity400(Cavity):
    """The same at the Reynolds number 400."""

    Re = Coefficient(400.0, above=0.0, maximum=400.0)


def lid(x):
    """The speed of the lid, shape (N,)."""
    return 16 * x**2 * (1 - x) ** 2


@lru_cache(maxsize=4)
def reference(Re: float, sizes: tuple[int, ...] = (20, 30, 42)) -> "CavityReference":
    """The numerical solution, off by 3e-7 in u and v and by 1e-5 in p at most."""
    return CavityReference(Re, sizes)


class CavityReference:
    """The flow in the cavity from a stream function that is a polynomial, by Galerkin's method.

    u = psi_y, v = -psi_x, with psi = lid(x) y² (y - 1) + a sum of products of Shen's polynomials
    for clamped ends (1994, SIAM J. Sci. Comput. 15, 1489). The weak form of the vorticity's
    equation is solved by Newton's method, on few polynomials first. The pressure is the polynomial
    whose gradient is nearest, in the mean square, to that of the balance of momentum.

    Args:
        Re: the Reynolds number.
        sizes: how many polynomials there are along each coordinate, one stage after another.
    """

    def __init__(self, Re: float, sizes: tuple[int, ...]) -> None:
        weights, stream = np.zeros((1, 1)), np.zeros((1, 1))
        for size in sizes:
            weights, stream = _stream(Re, size, weights)
        u, v = _slope(stream, 1), -_slope(stream, 0)
        self.series = [torch.from_numpy(c) for c in (u, v, _pressure(Re, u, v))]

    def __call__(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """u, v and p at points, each of shape (N,)."""
        along, up = (_legendre(2 * column - 1, len(self.series[0])) for column in (x, y))
        u, v, p = (((along @ c) * up).sum(1) for c in self.series)
        return u, v, p


def _stream(Re: float, size: int, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights of the clamped polynomials, (size, size), and psi's Legendre coefficients."""
    nodes, weights = legendre.leggauss(3 * size // 2 + 8)
    area = np.outer(weights, weights) / 4
    basis, k = np.zeros((size + 4, size)), np.arange(size)
    basis[k, k], basis[k + 2, k] = 1.0, -2 * (2 * k + 5) / (2 * k + 7)
    basis[k + 4, k] = (2 * k + 3) / (2 * k + 7)
    basis /= np.sqrt(2 * (2 * k + 3) ** 2 * (2 * k + 5))
    of = [2.0**a * legendre.legval(nodes, legendre.legder(basis, a)).T for a in range(3)]
    gram = [(f * weights[:, None] / 2).T @ f for f in of]
    bending = np.kron(gram[2], gram[0]) + 2 * np.kron(gram[1], gram[1]) + np.kron(gram[0], gram[2])
    pairs = {
        (a, b): (of[a][:, :, None] * of[b][:, None]).reshape(len(nodes), -1)
        for a in (0, 1)
        for b in (0, 1, 2)
    }

    def form(f: np.ndarray, x: tuple[int, int], y: tuple[int, int]) -> np.ndarray:
        """Integrals of f times derivatives of two products; orders of the one, of the other."""
        found = pairs[x].T @ (f * area) @ pairs[y]
        return found.reshape(size, size, size, size).swapaxes(1, 2).reshape(size**2, size**2)

    s = Polynomial([0.5, 0.5])  # from 0 to 1
    along, up = (legendre.poly2leg(f.coef) for f in (lid(s), s**2 * (s - 1)))
    lift = np.zeros((size + 4, size + 4))
    lift[: len(along), : len(up)] = np.outer(along, up)
    own = np.zeros((size, size))
    own[: len(start), : len(start)] = start
    for _ in range(30):
        psi = basis @ own @ basis.T + lift
        psi_x, psi_y = _slope(psi, 0), _slope(psi, 1)
        x, y, xx, xy, yy = (
            legendre.leggrid2d(nodes, nodes, c)
            for c in (psi_x, psi_y, _slope(psi_x, 0), _slope(psi_x, 1), _slope(psi_y, 1))
        )
        spin = xx + yy  # less the vorticity
        terms = [(xx / Re, 2, 0), (2 * xy / Re, 1, 1), (yy / Re, 0, 2)]
        terms += [(spin * y, 1, 0), (-spin * x, 0, 1)]
        residual = np.sum([of[a].T @ (area * f) @ of[b] for f, a, b in terms], axis=0)
        slope = bending / Re + form(y, (1, 2), (0, 0)) + form(y, (1, 0), (0, 2))
        slope -= form(x, (0, 2), (1, 0)) + form(x, (0, 0), (1, 2))
        slope += form(spin, (1, 0), (0, 1)) - form(spin, (0, 1), (1, 0))
        step = np.linalg.solve(slope, residual.ravel()).reshape(size, size)
        own = own - step
        if np.abs(of[1] @ step @ of[0].T).max() < 1e-9:  # the next one is its square
            break
    return own, basis @ own @ basis.T + lift


def _pressure(Re: float, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Legendre coefficients of the pressure."""
    size = len(u)
    nodes, weights = legendre.leggauss(2 * size)
    value = legendre.legvander(nodes, size - 1)
    change = 2 * legendre.legval(nodes, legendre.legder(np.eye(size))).T
    U, V = (value @ f @ value.T for f in (u, v))

    def force(f: np.ndarray) -> np.ndarray:
        """What the pressure's slope along one coordinate balances, at the nodes."""
        f_x, f_y = _slope(f, 0), _slope(f, 1)
        diffused = value @ (_slope(f_x, 0) + _slope(f_y, 1)) @ value.T
        return diffused / Re - U * (value @ f_x @ value.T) - V * (value @ f_y @ value.T)

    left, right = (weights[:, None] * value), (weights[:, None] * change)
    tested = right.T @ force(u) @ left + left.T @ force(v) @ right
    rates, modes = eigh(change.T @ right, value.T @ left)
    sums = rates[:, None] + rates
    sums[0, 0] = np.inf  # the level, which is set below
    found = modes @ (modes.T @ tested @ modes / sums) @ modes.T
    found[0, 0] -= legendre.legval2d(-1.0, -1.0, found)
    return found


def _slope(series: np.ndarray, axis: int) -> np.ndarray:
    """The derivative along a coordinate of the unit square, by as many coefficients."""
    found, lower = np.zeros_like(series), 2 * legendre.legder(series, axis=axis)
    found[: lower.shape[0], : lower.shape[1]] = lower
    return found


def _legendre(s: Tensor, size: int) -> Tensor:
    """Legendre's polynomials at points of [-1, 1], shape (N, size)."""
    found = [torch.ones_like(s), s]
    for n in range(1, size - 1):
        found.append(((2 * n + 1) * s * found[n] - n * found[n - 1]) / (n + 1))
    return torch.stack(found, dim=1)
