"""Dense quasi-Newton methods: evaluations to a loss, and the update in passes over the matrix.

python tests/benchmarks/broyden.py [--seeds 3] [--iterations 2000]
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pinnsig.optim import BFGS, LBFGS, SSBFGS, Measured, QuasiNewton, SSBroyden, drive
from pinnsig.optim.base import Request
from pinnsig.run.building import build, build_objective
from pinnsig.run.settings import resolve

sys.path.insert(0, str(Path(__file__).parent))
from lbfgs import Counted, Loss, quadratic, rosenbrock

KINDS: tuple[type[QuasiNewton], ...] = (SSBroyden, SSBFGS, BFGS, LBFGS)


def answering(theta: Tensor, loss: Loss) -> Callable[[Request], Measured]:
    """What answers an optimiser's requests about theta."""

    def answer(request: Request) -> Measured:
        value, gradient = loss(theta)
        along = getattr(request, "along", None)
        return Measured(value, 0.0 if along is None else float(along @ gradient), gradient)

    return answer


def burgers(seed: int) -> tuple[Loss, Tensor]:
    """Burgers' equation, 6 x 20, 1.3 tanh, calibrated, fixed points."""
    given: dict[str, Any] = {
        "problem": "burgers", "dtype": "float64", "depth": 6, "width": 20, "act": "tanh",
        "scale": 1.3, "p": "auto", "seed": seed, "collocation": 2000, "initial": 200,
        "boundary": 200, "device": "cpu",
    }  # fmt: skip
    objective = build_objective(build(resolve(given)))

    def loss(x: Tensor) -> tuple[float, Tensor]:
        objective.flat.restore(x)
        return float(objective.evaluate().loss), objective.flat.gradient.clone()

    return loss, objective.flat.copy()


TASKS: dict[str, tuple[Callable[[], tuple[Loss, Tensor]], int, float]] = {
    "Rosenbrock, 2": (lambda: rosenbrock(2), 200, 1e-14),
    "Rosenbrock, 100": (lambda: rosenbrock(100), 1500, 1e-14),
    "quadratic, 100, 1e4": (lambda: quadratic(100, 1e4), 1500, 1e-12),
    "quadratic, 100, 1e6": (lambda: quadratic(100, 1e6), 3000, 1e-12),
}


def rates(name: str, make: Callable[[], tuple[Loss, Tensor]], iterations: int, goal: float) -> None:
    """Print evaluations an iteration, those to a loss, and losses on the way, of every method."""
    for kind in KINDS:
        loss, start = make()
        counted, theta, optimizer = Counted(loss), start.clone(), kind(gradient_tolerance=0.0)
        answer, losses = answering(theta, counted), []
        while len(losses) < iterations and (losses or [1.0])[-1] > 1e-3 * goal:
            step = drive(optimizer.step(theta), answer)
            if step.stop:
                break
            losses.append(step.loss)
        reached = next((i for i, v in enumerate(counted.lowest, 1) if v <= goal), None)
        marks = " ".join(
            f"{losses[i - 1]:9.1e}" if i <= len(losses) else f"{'':9}"
            for i in (iterations // 4, iterations // 2, iterations)
        )
        print(f"{name:<21}{kind.name:<11}{len(losses):>6}{len(counted.lowest) / len(losses):>7.2f}"
              f"{goal:>9.0e}: {reached or '-':>5}   {marks}", flush=True)  # fmt: skip


def passes(parameters: int, threads: int, repeats: int) -> None:
    """Print what a step takes beside the loss, in read-write passes over the whole matrix."""
    torch.set_num_threads(threads)
    scales = torch.logspace(-3, 0, parameters, dtype=torch.float64)
    theta, optimizer = torch.ones_like(scales), SSBroyden(gradient_tolerance=0.0)
    matrix = torch.eye(parameters, dtype=torch.float64)
    spent = 0.0

    def loss(x: Tensor) -> tuple[float, Tensor]:
        nonlocal spent
        begun = time.perf_counter()
        gradient = scales * x
        value = 0.5 * float(x @ gradient) + 1.0
        spent += time.perf_counter() - begun
        return value, gradient

    answer = answering(theta, loss)
    steps, units = [], []
    for turn in range(repeats + 3):
        spent, begun = 0.0, time.perf_counter()
        drive(optimizer.step(theta), answer)
        between = time.perf_counter()
        matrix.mul_(1.0)
        if turn >= 3:  # the first ones take memory
            steps.append(between - begun - spent)
            units.append(time.perf_counter() - between)
    step, unit = statistics.median(steps), statistics.median(units)
    print(f"{parameters:>7,} parameters, {threads} threads: {1e3 * step:7.2f} ms a step beside the "
          f"loss, {1e3 * unit:7.2f} ms a pass: {step / unit:.2f} passes", flush=True)  # fmt: skip


def main() -> None:
    """Everything, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="of Burgers' equation")
    parser.add_argument("--iterations", type=int, default=2000, help="on Burgers' equation")
    parser.add_argument("--repeats", type=int, default=50)
    arguments = parser.parse_args()
    threads = torch.get_num_threads()
    for parameters in (2_200, 6_000):
        for count in sorted({1, threads}):
            passes(parameters, count, arguments.repeats)
    torch.set_num_threads(threads)
    print(f"\n{'task':<21}{'method':<11}{'steps':>6}{'each':>7}{'evaluations to':>16}   "
          "loss after a quarter, half, all of the steps")  # fmt: skip
    for name, (make, iterations, goal) in TASKS.items():
        rates(name, make, iterations, goal)
    for seed in range(arguments.seeds):
        rates(f"Burgers, seed {seed}", partial(burgers, seed), arguments.iterations, 1e-8)


if __name__ == "__main__":
    main()
