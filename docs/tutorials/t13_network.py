r"""
A network of your own
=====================

``network`` may be a module, or a function that makes one. Made of linear maps, activations, sums
and products, it runs on the fast engine as the built-in ones do; anything else runs on nested
autograd, with a notice.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

import pinnsig

SMALL = {"depth": 4, "width": 16, "collocation": 500, "broyden": 600, "figures": False}
# seconds of training; leave it out for your own


class Gated(nn.Module):
    """Two layers, the second of which is mixed with the first by a gate."""

    def __init__(self, inputs: int, outputs: int, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, width)
        self.gate = nn.Linear(inputs, width)
        self.second = nn.Linear(width, width)
        self.last = nn.Linear(width, outputs)

    def forward(self, x):
        h, g = torch.tanh(self.first(x)), torch.tanh(self.gate(x))
        return self.last(g * torch.tanh(self.second(h)) + h)


def gated(
    inputs, outputs, *, width
):  # also, if wanted: depth, activation, dtype, device, generator
    return Gated(inputs, outputs, width)


result = pinnsig.solve("heat", network=gated, **SMALL)
print(f"engine {result.engine}, {result.parameters} weights")
print(f"relative L2 error {result.relative_l2:.1e}")

# %%
# A run keeps its weights, not the code of a network: it is given again where the run is loaded.

model = pinnsig.load(result.path, network=gated)
x = np.linspace(0, 1, 200)
plt.figure(figsize=(6, 3), layout="constrained")
for t in (0.0, 0.5, 1.0):
    error = model.predict(x=x, t=t)["u"] - np.exp(-0.1 * np.pi**2 * t) * np.sin(np.pi * x)
    plt.plot(x, error, label=f"t = {t}")
plt.xlabel("x")
plt.title("error of u")
plt.legend()
plt.show()
