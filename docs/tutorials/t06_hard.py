r"""
Hard conditions
===============

A condition can be a term of the loss, or hold exactly, whatever the network gives. ``hard=True``
on ``Dirichlet``, ``Initial`` and ``Periodic`` builds an ansatz from the domain's distance; nothing
has to be derived by hand, and the residual is the only term that is left.
"""

import math

import matplotlib.pyplot as plt
import numpy as np
import torch

import pinnsig
from pinnsig.problem import Box, Dirichlet, Problem

SMALL = {"depth": 4, "width": 16, "collocation": 500, "broyden": 600, "figures": False}
# seconds of training; leave it out for your own


class Soft(Problem):
    """Poisson's equation on a square; u = 0 on the sides is a term of the loss."""

    domain = Box(x=(0.0, 1.0), y=(0.0, 1.0))
    exactly = False

    def residual(self, u, x, y):
        source = 2 * math.pi**2 * torch.sin(math.pi * x) * torch.sin(math.pi * y)
        return u.xx + u.yy + source

    def conditions(self):
        yield Dirichlet(on=("x", "y"), u=0.0, hard=self.exactly)

    def solution(self, x, y):
        return torch.sin(math.pi * x) * torch.sin(math.pi * y)


class Hard(Soft):
    """The same; u = 0 on the sides holds exactly."""

    exactly = True


# %%
# The same budget for both:

results = {cls: pinnsig.solve(cls, **SMALL) for cls in (Soft, Hard)}
for cls, result in results.items():
    print(f"{cls.__name__}: terms {list(result.terms)}, error {result.relative_l2:.1e}")

# %%
# What each network has on the side x = 0, where u is zero:

y = np.linspace(0, 1, 200)
plt.figure(figsize=(6, 3), layout="constrained")
for cls, result in results.items():
    model = pinnsig.load(result.path, problem=cls)
    plt.plot(y, model.predict(x=0.0, y=y)["u"], label=cls.__name__)
plt.xlabel("y")
plt.title("u at x = 0")
plt.legend()
plt.show()

# %%
# An ansatz of one's own is ordinary algebra on the network's outputs ``n``. One that meets all
# conditions is called ``hard_ansatz``: it is taken with ``--hard yes`` and by ``--preset
# accurate``, after a check that it does meet them.


class Own(Soft):
    """The same with an ansatz that was written down."""

    def hard_ansatz(self, n, x, y):
        return x * (1 - x) * y * (1 - y) * n


result = pinnsig.solve(Own, hard="yes", **SMALL)
print(f"own ansatz: error {result.relative_l2:.1e}")
