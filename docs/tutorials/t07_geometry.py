r"""
A domain with holes
===================

Shapes are combined by ``|``, ``-`` and ``&``, and their boundaries have names. Laplace's equation
on a plate with two holes, one kept at a value, one with a given flux; the solution is :math:`x^2 -
y^2`.
"""

import matplotlib.pyplot as plt
import numpy as np

import pinnsig
from pinnsig.problem import Box, Dirichlet, Disc, Ellipse, Neumann, Problem

SMALL = {"depth": 4, "width": 16, "collocation": 500, "broyden": 600, "figures": False}
# seconds of training; leave it out for your own

plate = Box(x=(-1.0, 1.0), y=(-1.0, 1.0))
holes = Disc(center=(-0.4, 0.3), radius=0.3, name="round") | Ellipse(
    center=(0.4, -0.4), radii=(0.4, 0.2), angle=0.5, name="slot"
)


class Holes(Problem):
    """Laplace's equation on a plate with two holes."""

    domain = plate - holes

    def residual(self, u):
        return u.xx + u.yy

    def conditions(self):
        for part in ("x", "y", "round"):
            yield Dirichlet(on=part, u=lambda x, y: x**2 - y**2)
        # the outward normal's components are arguments like any other
        yield Neumann(
            on="slot",
            u=lambda x, y, normal_x, normal_y: 2 * x * normal_x - 2 * y * normal_y,
        )

    def solution(self, x, y):
        return x**2 - y**2


result = pinnsig.solve(Holes, **SMALL)
print(f"relative L2 error {result.relative_l2:.1e}")
print("terms:", ", ".join(result.terms))

# %%
# Points outside are left out of the picture by the domain's own test.

model = pinnsig.load(result.path, problem=Holes)
x, y = np.meshgrid(np.linspace(-1, 1, 161), np.linspace(-1, 1, 161))
inside = Holes.domain.contains(np.stack([x.ravel(), y.ravel()], axis=1)).reshape(x.shape)
u = np.full(x.shape, np.nan)
u[inside] = model.predict(x=x[inside], y=y[inside])["u"]

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for axis, values, title in zip(
    axes, (u, np.abs(u - x**2 + y**2)), ("u", "absolute error"), strict=True
):
    figure.colorbar(axis.pcolormesh(x, y, values, shading="auto"), ax=axis)
    axis.set(title=title, aspect="equal")
plt.show()
