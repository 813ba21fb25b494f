r"""
An integral condition
=====================

A rod with insulated ends: only the slope is known at both ends, so a steady solution is fixed up
to a constant. ``Integral`` fixes it; the same condition conserves mass where it holds at every
time.
"""

import math

import matplotlib.pyplot as plt
import numpy as np
import torch

import pinnsig
from pinnsig.problem import Box, Integral, Neumann, Problem

SMALL = {"depth": 4, "width": 16, "collocation": 500, "broyden": 600, "figures": False}
# seconds of training; leave it out for your own


class Insulated(Problem):
    """-u'' = pi² cos(pi x), no flux through the ends, mean 1."""

    domain = Box(x=(0.0, 1.0))

    def residual(self, u, x):
        return u.xx + math.pi**2 * torch.cos(math.pi * x)

    def conditions(self):
        yield Neumann(on="x", u=0.0)
        yield Integral(lambda u: u, equals=1.0)

    def solution(self, x):
        return 1 + torch.cos(math.pi * x)


result = pinnsig.solve(Insulated, **SMALL)
print(f"relative L2 error {result.relative_l2:.1e}")
print("terms:", ", ".join(result.terms))

# %%
# The integral is taken by a Gauss-Legendre rule of its own. How far that rule is off on the
# trained field stands in the result, and would be a reason for doubt where it is large.

print(result.quadrature)

x = np.linspace(0, 1, 200)
u = pinnsig.load(result.path, problem=Insulated).predict(x=x)["u"]
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
left.plot(x, u, label="u")
left.plot(x, 1 + np.cos(math.pi * x), "k:", label="closed form")
left.legend()
right.semilogy(x, np.abs(u - 1 - np.cos(math.pi * x)) + 1e-16)
right.set(title="absolute error")
plt.show()
