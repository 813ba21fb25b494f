r"""
A run that was interrupted
==========================

A run writes checkpoints. Killed at any moment, it goes on to the same weights, bit for bit on a
CPU. Here an interruption is played by a callback that raises an error, as a full disk or a bug
would.
"""

import matplotlib.pyplot as plt
import numpy as np

import pinnsig

SMALL = {"adam": 100, "lbfgs": 60, "broyden": 0, "collocation": 300, "figures": False}


class PowerCut(pinnsig.Callback):
    """Stops everything at an iteration."""

    def recorded(self, record):
        if record.step == 90:
            raise RuntimeError("no more power")


whole = pinnsig.solve("heat", **SMALL)
try:
    pinnsig.solve("heat", checkpoint_every=20, callbacks=[PowerCut()], **SMALL)
except pinnsig.PinnsigError as error:
    cut = error.path
    print(error)

# %%
# What was known then is in the directory. `resume` takes the last checkpoint:

resumed = pinnsig.resume(cut, figures=False)
print("stop:", resumed.stop, "after", resumed.iterations, "iterations")

# %%
# The weights are those of the run that was never interrupted:

x = np.linspace(0, 1, 101)
first, second = (pinnsig.load(r.path).predict(x=x, t=0.5)["u"] for r in (whole, resumed))
print("largest difference:", np.abs(first - second).max())

plt.figure(figsize=(6, 3), layout="constrained")
for result, style in ((whole, "-"), (resumed, "k:")):
    records = list(pinnsig.load(result.path).directory.metrics())
    plt.semilogy([r["step"] for r in records], [r["loss"] for r in records], style)
plt.axvline(90, color="r", linewidth=0.8)
plt.xlabel("iteration")
plt.ylabel("loss")
plt.show()

# %%
# A finished run can be made longer in the same way: ``pinnsig.resume(path, broyden=6000)``, or
# ``pinnsig resume RUN --broyden 6000``.
