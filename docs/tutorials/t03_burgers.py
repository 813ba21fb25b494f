r"""
Burgers' equation: from a rough answer to a good one
====================================================

:math:`u_t + u u_x = \nu u_{xx}` with :math:`\nu = 0.01/\pi` forms a shock, the classical test of a
PINN. It is built in, with the exact solution by Cole and Hopf. We train in two steps, go on with a
run, and see when the shock is found.
"""

import matplotlib.pyplot as plt
import numpy as np

import pinnsig

SMALL = {"depth": 4, "width": 16, "collocation": 1000, "broyden": 300, "figures": False}
# seconds of training; leave it out for your own

result = pinnsig.solve("burgers", act="tanh", scale=1.3, **SMALL)
print(f"after {result.iterations} iterations: relative L2 error {result.relative_l2:.1e}")
early = pinnsig.load(result.path)

# %%
# ``resume`` goes on exactly where the run stopped, here for more iterations of the last phase.

longer = pinnsig.resume(result.path, broyden=1500, figures=False)
print(f"after {longer.iterations} iterations: relative L2 error {longer.relative_l2:.1e}")
late = pinnsig.load(longer.path)

# %%
# The shock at x = 0 is what takes time. Derivatives of the network are exact, so its slope can be
# drawn as well.

x = np.linspace(-1, 1, 401)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
for model, name in ((early, "first"), (late, "longer")):
    found = model.predict(x=x, t=0.75, of=("u", "u.x"))
    axes[0].plot(x, found["u"], label=name)
    axes[1].plot(x, found["u.x"], label=name)
axes[0].set(xlabel="x", title="u at t = 0.75")
axes[1].set(xlabel="x", title="u.x", xlim=(-0.2, 0.2))
axes[0].legend()
plt.show()

# %%
# The log of every iteration is in ``metrics.jsonl``.

records = late.directory.metrics()
steps, losses = zip(*((r["step"], r["loss"]) for r in records), strict=True)
plt.figure(figsize=(6, 3), layout="constrained")
plt.semilogy(steps, losses)
plt.xlabel("iteration")
plt.ylabel("loss")
plt.show()

# %%
# With all of its 4,200 iterations (half a minute on two quiet cores) the error is 9e-6; with
# ``--preset accurate``, some 4e-7 after 240 s.
