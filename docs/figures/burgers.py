"""Draw `burgers.svg`, the figure of the README: `python docs/figures/burgers.py [RUN]`.

Without RUN it trains first, as `pinnsig solve burgers --act tanh --scale 1.3` does.
"""

import re
import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import torch

import pinnsig


def draw(run: Path, target: Path) -> None:
    """Draw the field, three moments beside the exact solution, and the error of a run."""
    model = pinnsig.load(run)
    problem = model.model.problem
    x, t = np.meshgrid(np.linspace(-1, 1, 61), np.linspace(0, 1, 17))
    exact = problem.solution(torch.tensor(x.ravel()), torch.tensor(t.ravel()))
    u = model.predict(x=x, t=t)["u"]
    error = np.abs(u - exact.detach().numpy().reshape(x.shape))

    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "pinnsig", "font.size": 9})
    figure, (field, moments, off) = plt.subplots(1, 3, figsize=(10, 2.8), layout="constrained")
    figure.colorbar(field.contourf(t, x, u, levels=np.linspace(-1.05, 1.05, 11), cmap="RdBu_r"))
    field.set(title="u, by the network", xlabel="t", ylabel="x")
    for time, colour in zip((0.25, 0.5, 0.75), ("#0072B2", "#009E73", "#D55E00"), strict=True):
        row = int(np.argmin(np.abs(t[:, 0] - time)))
        moments.plot(x[row], u[row], color=colour, label=f"t = {time}")
        moments.plot(x[row, ::6], exact.detach().numpy().reshape(x.shape)[row, ::6], "k.", ms=3)
    moments.set(title="three moments; dots: exact", xlabel="x")
    moments.legend(fontsize=8)
    off.semilogy(t[:, 0], error.max(axis=1).clip(1e-9))
    off.set(title="largest error at each time", xlabel="t")
    figure.savefig(target, metadata={"Date": None})
    drawn = target.read_text(encoding="utf-8")
    target.write_text(re.sub(r"(\d\.\d\d)\d+", r"\1", drawn), encoding="utf-8")  # a third smaller


if __name__ == "__main__":
    given = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    path = given or pinnsig.solve("burgers", act="tanh", scale=1.3).path
    draw(path, Path(__file__).with_suffix(".svg"))
