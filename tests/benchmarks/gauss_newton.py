"""Levenberg-Marquardt on Burgers' equation: loss and error against iterations and seconds.

python -m tests.benchmarks.gauss_newton [--seconds 60] [--only 6x20] [--methods lm] [--redraw 25]
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import torch

from pinnsig.model.evaluation import compare, relative_l2
from pinnsig.optim import LBFGS, LM, GaussNewtonCG, Optimizer, drive
from pinnsig.run.building import build, build_objective
from pinnsig.run.settings import resolve
from pinnsig.sampling import draw_inside
from pinnsig.training.points import ResidualBased
from tests.optim.least_squares import Pinn

NETWORKS: dict[str, dict[str, Any]] = {
    "3x20": {"depth": 3, "width": 20, "init": "xavier", "collocation": 2000},
    "4x30": {"depth": 4, "width": 30, "init": "xavier", "collocation": 3600},
    "6x20": {"depth": 6, "width": 20, "init": "calibrated", "p": "auto", "collocation": 3600},
    # the dual form, scaled down for a CPU; with a GPU, the whole network
    "dual": {"depth": 12, "width": 24, "init": "calibrated", "p": "auto", "collocation": 800},
    "dual, GPU": {"depth": 50, "width": 64, "init": "calibrated", "p": "auto", "collocation": 4000},
}
METHODS: dict[str, Callable[[], Optimizer]] = {
    "lm": LM,
    "lm-plain": lambda: LM(geodesic=0.0),
    "gncg": GaussNewtonCG,
    "lbfgs": LBFGS,
}
REPORTS = 6  # lines for each run


def train(network: dict[str, Any], method: str, seconds: float, device: str, redraw: int) -> None:
    """Train once, and print a line at equal times, doubling."""
    given = {"problem": "burgers", "dtype": "float64", "device": device, "initial": 200}
    parts = build(resolve({**given, "boundary": 200, **network}))
    points = ResidualBased(
        lambda number, count: draw_inside(parts.problem, count, "lhs", seed=number),
        seed=0,
    )
    task, optimizer = Pinn(build_objective(parts)), METHODS[method]()
    print(f"  {method}: {optimizer.prepare(task.layout) or ''}")
    times = [seconds / 2**i for i in reversed(range(REPORTS))]
    spent, iterations, stop = 0.0, 0, None
    while times and stop is None:
        begun = time.perf_counter()
        done = drive(optimizer.step(task.theta), task)
        spent += time.perf_counter() - begun
        iterations, stop = iterations + 1, done.stop
        if redraw and iterations % redraw == 0:
            task.use(task.objective.rebuild(points(task.objective, iterations)))
            optimizer.renew()
            stop = None
        if spent >= times[0] or stop:
            times = [t for t in times if t > spent]
            error = relative_l2(compare(parts.model)) or float("nan")
            print(
                f"    {spent:7.1f} s {iterations:6} its {task.calls:7} requests   "
                f"loss {done.loss:9.2e}   relative L2 {error:9.2e}   {stop or ''}",
                flush=True,
            )


def main() -> None:
    """Run every network with every method."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--only", nargs="*", default=[n for n in NETWORKS if "GPU" not in n])
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--redraw", type=int, default=25, help="steps between new points; 0: never")
    chosen = parser.parse_args()
    print(f"{torch.get_num_threads()} threads, torch {torch.__version__}, {chosen.device}")
    for name in chosen.only:
        network = NETWORKS[name]
        shape = ", ".join(f"{key} {value}" for key, value in network.items())
        print(f"{name}: Burgers, nu = 0.01/pi, float64, {shape}, 200 + 200 conditions")
        for method in chosen.methods:
            train(network, method, chosen.seconds, chosen.device, chosen.redraw)


if __name__ == "__main__":
    main()
