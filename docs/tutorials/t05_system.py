r"""
A system of equations
=====================

Hares grow, lynxes eat them (Lotka and Volterra). A system names its ``fields``; its residual
returns a term for each equation, and each term can have a weight of its own. We compare with a
Runge-Kutta method of scipy.
"""

import matplotlib.pyplot as plt
import numpy as np

import pinnsig
from pinnsig.problem import Box, Coefficient, Initial, Problem

SMALL = {"depth": 4, "width": 16, "collocation": 500, "broyden": 600, "figures": False}
# seconds of training; leave it out for your own


def rates(state):
    """Return the rates of change of hares and lynxes."""
    hare, lynx = state
    return np.array([hare - 0.5 * hare * lynx, 0.25 * hare * lynx - 0.75 * lynx])


class Predators(Problem):
    """Lotka-Volterra equations for hares and lynxes."""

    domain = Box(t=(0.0, 6.0))
    fields = ("hare", "lynx")
    bite = Coefficient(0.5, above=0.0)

    def residual(self, hare, lynx):
        return {
            "growth": hare.t - hare + self.bite * hare * lynx,
            "hunt": lynx.t + 0.75 * lynx - 0.5 * self.bite * hare * lynx,
        }

    def conditions(self):
        yield Initial(hare=2.0, lynx=1.0)


result = pinnsig.solve(Predators, **SMALL)
print(f"estimated relative L2 error {result.estimated_error:.1e}")
for name, value in result.terms.items():
    print(f"{name:10} {value:.1e}")

# %%
# There is no ``solution`` here, so the error is estimated. We compare with a Runge-Kutta method:

from scipy.integrate import solve_ivp  # noqa: E402

t = np.linspace(0, 6, 200)
found = pinnsig.load(result.path, problem=Predators).predict(t=t)
exact = solve_ivp(lambda _t, y: rates(y), (0, 6), [2.0, 1.0], t_eval=t, rtol=1e-10, atol=1e-10).y
error = np.linalg.norm([found["hare"] - exact[0], found["lynx"] - exact[1]])
print(f"relative L2 error           {error / np.linalg.norm(exact):.1e}")

plt.figure(figsize=(6, 3.2), layout="constrained")
for name, values in zip(("hare", "lynx"), exact, strict=True):
    plt.plot(t, found[name], label=name)
    plt.plot(t, values, "k:")
plt.xlabel("t")
plt.legend()
plt.show()

# %%
# Weights are given by the terms' names: ``pinnsig.solve(Predators, weight={"hunt": 10.0})``, or
# ``--weight hunt=10``. Terms of very different size are balanced without that (``--weighting``).
