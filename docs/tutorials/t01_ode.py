r"""
An ordinary differential equation
=================================

A damped oscillator, :math:`\ddot u + 2 d w \dot u + w^2 u = 0`, let go at :math:`u = 1`. A problem
needs three things: where it holds (``domain``), what has to be zero inside (``residual``), and
what holds at the start (``conditions``). A ``solution`` is optional: with it the error is
measured, without it the error is estimated.
"""

import math

import matplotlib.pyplot as plt
import numpy as np
import torch

import pinnsig
from pinnsig.problem import Box, Coefficient, Initial, Problem

SMALL = {"depth": 4, "width": 16, "collocation": 500, "broyden": 600, "figures": False}
# seconds of training; leave it out for your own


class Oscillator(Problem):
    """Damped oscillator u'' + 2 d w u' + w² u = 0, let go at u = 1."""

    domain = Box(t=(0.0, 4.0))  # one coordinate: an ODE
    w = Coefficient(2.0, above=0.0)  # angular frequency without damping
    d = Coefficient(0.1, minimum=0.0, maximum=0.99)  # share of the critical damping

    def residual(self, u):
        return u.tt + 2 * self.d * self.w * u.t + self.w**2 * u

    def conditions(self):
        yield Initial(u=1.0, u_t=0.0)

    def solution(self, t):
        rate = self.d * self.w
        v = self.w * math.sqrt(1.0 - self.d**2)
        return torch.exp(-rate * t) * (torch.cos(v * t) + rate / v * torch.sin(v * t))


# %%
# ``u.tt`` is the second derivative of the field ``u`` in ``t``. Nothing has to be derived by hand.
# A few seconds are enough:

result = pinnsig.solve(Oscillator, **SMALL)
print(f"relative L2 error  {result.relative_l2:.1e}")
print(f"estimated error    {result.estimated_error:.1e}")

# %%
# A run is a directory; `load` makes a model of it, which gives the field and any of its partials.

model = pinnsig.load(result.path, problem=Oscillator)
t = np.linspace(0, 4, 200)
found = model.predict(t=t, of=("u", "u.t"))
exact = Oscillator().solution(torch.tensor(t)).numpy()

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
left.plot(t, found["u"], label="u")
left.plot(t, found["u.t"], label="u.t")
left.plot(t, exact, "k:", label="closed form of u")
left.set(xlabel="t")
left.legend()
right.semilogy(t, np.abs(found["u"] - exact) + 1e-16)
right.set(xlabel="t", title="absolute error of u")
plt.show()

# %%
# Coefficients are set by name: ``pinnsig.solve(Oscillator, set={"w": 3.0})`` in Python, ``--set
# w=3`` on the command line, where the class stands in a file of its own:
#
# .. code-block:: bash
#
#    pinnsig new oscillator.py --kind ode
#    pinnsig solve oscillator.py --set w=3
