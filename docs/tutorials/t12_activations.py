r"""
Activations and initialisation
==============================

Activations are an algebra: scaled, stretched and summed, with exact derivatives. Each has a
critical gain :math:`\omega = 1/f'(0)`, and the calibrated start :math:`W = D + Z` has
:math:`\omega` on its diagonal. What a start does to a signal can be seen before any training.
"""

import matplotlib.pyplot as plt
import torch

import pinnsig
from pinnsig.activations import parse_activation
from pinnsig.calibration import sigma_star, target_negative_rate
from pinnsig.initializers import parse_initializer
from pinnsig.signal import health, normal_inputs

SMALL = {"depth": 4, "width": 16, "collocation": 500, "broyden": 600, "figures": False}
# seconds of training; leave it out for your own

x = torch.linspace(-4, 4, 400, dtype=torch.float64)
plt.figure(figsize=(6, 3.2), layout="constrained")
for text in ("tanh", "softsign2", "0.5*tanh(3x) + 0.5*erf(x)"):
    f = parse_activation(text)
    plt.plot(x, f(x), label=rf"{text}, $\omega$ = {f.omega:.3g}")
plt.legend()
plt.show()

# %%
# The noise of a calibrated start is :math:`\sigma^*(p, L, \omega)`, in closed form: it makes a
# share p of the signs flip over L layers. The paper's rule p(L) lowers p with depth.

for depth in (6, 20, 50):
    p = target_negative_rate(depth)
    print(f"{depth} layers: p(L) = {p:.3f}, sigma* = {sigma_star(p, depth):.4f}")

# %%
# What 50 layers of 32 do to a signal, by initialiser. A spread near 0 means that all inputs end in
# the same small range, and that a gradient says little.

f = parse_activation("tanh")
figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
inputs = normal_inputs(64, 32)
for text in ("calibrated:p=0.49", "calibrated", "eoc:sigma_b=0", "xavier"):
    found = health(f, parse_initializer(text), depth=50, width=32, x=inputs)
    axis.plot(found.profile.layer, found.profile.spread, label=f"{text}: {found.grade}")
axis.set(xlabel="layer", ylabel="spread (normalised entropy)")
axis.legend(fontsize=8)
plt.show()

# %%
# Two starts, the same small budget:

for init in ("calibrated", "xavier"):
    result = pinnsig.solve("burgers", act="softsign2", init=init, **{**SMALL, "depth": 12})
    print(
        f"{init:12} loss {result.loss_at_start:.1e} at the start, {result.best_loss:.1e} at the end"
    )
