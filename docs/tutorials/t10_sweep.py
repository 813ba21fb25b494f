r"""
A sweep
=======

Every setting takes several values; the grid is their product. A sweep has a directory with one run
for each member, goes on where it was interrupted, and comes back as a table.
"""

import matplotlib.pyplot as plt

import pinnsig

table = pinnsig.sweep(
    "heat",
    scale=[0.5, 1.5],
    init=["calibrated", "xavier"],
    seed=[0, 1],
    depth=3,
    width=12,
    adam=50,
    lbfgs=100,
    collocation=300,
    figures=False,
)
print(table)
for row in table[:3]:
    print(row["scale"], row["init"], row["seed"], f"{row['relative_l2']:.1e}")

# %%
# Medians and ranges over seeds:

plt.figure(figsize=(6, 3.2), layout="constrained")
for init in table.values("init"):
    scales = table.values("scale")
    spreads = [table.where(init=init, scale=a).spread("relative_l2") for a in scales]
    middle = [s.median for s in spreads]
    below = [s.median - s.low for s in spreads]
    above = [s.high - s.median for s in spreads]
    plt.errorbar(scales, middle, yerr=[below, above], marker="o", capsize=3, label=init)
plt.yscale("log")
plt.xlabel("scale of the activation")
plt.ylabel("relative L2 error")
plt.legend()
plt.show()

# %%
# From the command line, with the same directory the second time:
#
# .. code-block:: bash
#
#    pinnsig sweep heat --scale 0.5,1.5 --init calibrated,xavier --seed 0,1 --out runs/scales
#    pinnsig plot runs/scales
#    pinnsig compare runs/scales --by init
