r"""
An option, with its greeks
==========================

The value of a European call by the Black-Scholes equation, in time to maturity. Delta and gamma
are partials of the network, and need nothing more. The payoff has a kink, where a smooth network
is slow: ``black-scholes-lifted`` carries the kink in its ansatz.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

import pinnsig
from pinnsig.problem import problem_class

SMALL = {"depth": 4, "width": 16, "collocation": 500, "broyden": 600, "figures": False}
# seconds of training; leave it out for your own

results = {
    name: pinnsig.solve(name, **SMALL, set={"sigma": 0.25})
    for name in ("black-scholes", "black-scholes-lifted")
}
for name, result in results.items():
    print(f"{name:22} relative L2 error {result.relative_l2:.1e}")

# %%
# The value and its first two derivatives in the price, two weeks before maturity, where the kink is
# near:

S = np.linspace(0.2, 0.9, 300)
figure, axes = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
for name, result in results.items():
    found = pinnsig.load(result.path).predict(S=S, tau=0.04, of=("V", "V.S", "V.SS"))
    for axis, (quantity, values) in zip(axes, found.items(), strict=True):
        axis.plot(S, values, label=name)
        axis.set(xlabel="S", title=quantity)
axes[0].legend(fontsize=8)
plt.show()

# %%
# Against the closed form, in the strike's currency (the strike is 0.5):

exact = problem_class("black-scholes")(sigma=0.25)
value = exact.solution(torch.tensor(S), torch.full((S.size,), 0.04, dtype=torch.float64)).numpy()
for name, result in results.items():
    error = np.abs(pinnsig.load(result.path).predict(S=S, tau=0.04)["V"] - value).max()
    print(f"{name:22} largest error {error:.1e}")
