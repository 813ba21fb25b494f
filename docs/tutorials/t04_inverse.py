r"""
An inverse problem, with intervals
==================================

How fast does heat spread in a rod, if all that is known is forty noisy temperatures? ``k`` is
learned together with the field, and comes with a 95 % confidence interval.
"""

import math

import matplotlib.pyplot as plt
import numpy as np
import torch

import pinnsig
from pinnsig.problem import Box, Coefficient, Dirichlet, Initial, PointData, Problem

SMALL = {"depth": 4, "width": 16, "collocation": 500, "broyden": 600, "figures": False}
# seconds of training; leave it out for your own

rng = np.random.default_rng(0)
X, T = rng.uniform(0.1, 0.9, 40), rng.uniform(0.0, 1.0, 40)
EXACT = np.exp(-0.2 * math.pi**2 * T) * np.sin(math.pi * X)
U = EXACT + 0.01 * rng.standard_normal(40)


class Rod(Problem):
    """Heat equation u_t = k u_xx with an unknown k."""

    domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))
    k = Coefficient(0.1, above=0.0, learn=True, true=0.2)  # true: only if it is known

    def residual(self, u):
        return u.t - self.k * u.xx

    def conditions(self):
        yield Initial(u=lambda x: torch.sin(math.pi * x))
        yield Dirichlet(on="x", u=0.0)
        yield PointData(x=X, t=T, u=U, noise=0.01)


# %%
# The standard deviation of a measurement, 0.01, is given with the data; left out, it is estimated.

result = pinnsig.solve(Rod, **SMALL)
k = result.coefficients["k"]
low, high = k["interval"]
print(f"k = {k['value']:.4f}, 95 % interval [{low:.4f}, {high:.4f}], true 0.2")

# %%
# On the way there:

steps, values = [], []
for record in pinnsig.load(result.path, problem=Rod).directory.metrics():
    steps.append(record["step"])
    values.append(record["coefficients"]["k"])
plt.figure(figsize=(6, 3.2), layout="constrained")
plt.plot(steps, values, label="k")
plt.axhspan(low, high, alpha=0.3, label="95 % interval")
plt.axhline(0.2, color="k", linestyle=":", label="true")
plt.xlabel("iteration")
plt.legend()
plt.show()

# %%
# The interval says what noise in the data does. How far training itself is from its end is another
# number, ``estimated``:

print(f"error of k {abs(k['value'] - 0.2):.1e}, estimated from the residuals {k['estimated']}")
