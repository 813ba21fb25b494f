r"""
The heat equation
=================

A rod whose ends are kept cold: :math:`u_t = k\,u_{xx}` on :math:`0 \le x \le 1`. This page follows
a run from the problem to its figures, and shows what to look at before believing an answer.
"""

import math

import matplotlib.pyplot as plt
import numpy as np
import torch

import pinnsig
from pinnsig.problem import Box, Coefficient, Dirichlet, Initial, Problem

SMALL = {"depth": 4, "width": 16, "collocation": 500, "broyden": 600, "figures": False}
# seconds of training; leave it out for your own


class Heat(Problem):
    """Heat equation u_t = k u_xx on a rod whose ends are kept cold."""

    domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))
    k = Coefficient(0.1, above=0.0)

    def residual(self, u):
        return u.t - self.k * u.xx

    def conditions(self):
        yield Initial(u=lambda x: torch.sin(math.pi * x))
        yield Dirichlet(on="x", u=0.0)

    def solution(self, x, t):
        return torch.exp(-self.k * math.pi**2 * t) * torch.sin(math.pi * x)


# %%
# Train a small network for a few seconds. Without ``SMALL`` the default preset takes about a
# minute.

result = pinnsig.solve(Heat, set={"k": 0.2}, **SMALL)
for name in ("best_loss", "relative_l2", "estimated_error", "stop"):
    print(f"{name:16} {getattr(result, name)}")

# %%
# The error is measured here, since there is a ``solution``; ``estimated_error`` would stand there
# without one. ``suspicious`` is empty where nothing looks wrong, and ``independent`` compares the
# residuals at points that were not trained on with those that were.

print("suspicious:", result.suspicious)
for term, found in result.independent["terms"].items():
    print(
        f"{term:10} mean square {found['mean_square']:.1e}, {found['ratio']:.1f} times training's"
    )

# %%
# The field and its error on a grid:

model = pinnsig.load(result.path, problem=Heat)
x, t = np.meshgrid(np.linspace(0, 1, 101), np.linspace(0, 1, 101))
u = model.predict(x=x, t=t)["u"]
error = np.abs(u - np.exp(-0.2 * math.pi**2 * t) * np.sin(math.pi * x))

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for axis, values, title in zip(axes, (u, error), ("u", "absolute error"), strict=True):
    figure.colorbar(axis.pcolormesh(t, x, values, shading="auto"), ax=axis)
    axis.set(xlabel="t", ylabel="x", title=title)
plt.show()

# %%
# Every run draws such figures by itself, ``figures/solution.png`` and others; they were switched
# off here. From the command line, with the class in ``heat.py``:
#
# .. code-block:: bash
#
#    pinnsig new heat.py
#    pinnsig solve heat.py --set k=0.2
