"""L-BFGS beside scipy's and torch's: evaluations to the same loss, and time beside the loss.

python tests/benchmarks/lbfgs.py
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

from pinnsig.optim import LBFGS, Gradient, Measured, drive
from pinnsig.run.building import build, build_objective
from pinnsig.run.settings import resolve

HISTORY = 50
Loss = Callable[[Tensor], tuple[float, Tensor]]
"""Loss and gradient at a vector, float64."""


class Counted:
    """A loss that notes the lowest value after each of its evaluations."""

    def __init__(self, loss: Loss) -> None:
        self.loss = loss
        self.lowest: list[float] = []

    def __call__(self, x: Tensor) -> tuple[float, Tensor]:
        """Evaluate, count and note."""
        value, gradient = self.loss(x)
        self.lowest.append(min([value, *self.lowest[-1:]]))
        return value, gradient


def rosenbrock(dimensions: int) -> tuple[Loss, Tensor]:
    """The chained function from (-1.2, 1, -1.2, 1, ...)."""

    def loss(x: Tensor) -> tuple[float, Tensor]:
        x = x.detach().requires_grad_()
        value = (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
        value.backward()
        assert x.grad is not None
        return float(value.detach()), x.grad

    return loss, torch.tensor([-1.2, 1.0], dtype=torch.float64).repeat(dimensions // 2)


def quadratic(dimensions: int, condition: float) -> tuple[Loss, Tensor]:
    """Eigenvalues from 1 to the condition number, evenly on a log scale, rotated."""
    generator = torch.Generator().manual_seed(0)
    square = torch.randn(dimensions, dimensions, generator=generator, dtype=torch.float64)
    turn = torch.linalg.qr(square).Q
    scales = torch.logspace(0, float(np.log10(condition)), dimensions, dtype=torch.float64)
    matrix = turn @ torch.diag(scales) @ turn.T

    def loss(x: Tensor) -> tuple[float, Tensor]:
        gradient = matrix @ x
        return 0.5 * float(x @ gradient), gradient

    return loss, turn @ torch.ones(dimensions, dtype=torch.float64)


def pde(name: str) -> tuple[Loss, Tensor]:
    """A small network on a built-in problem, from EOC weights."""
    given: dict[str, Any] = {
        "problem": name, "dtype": "float64", "depth": 3, "width": 20, "init": "eoc",
        "collocation": 1000, "initial": 100, "boundary": 100, "device": "cpu",
    }  # fmt: skip
    objective = build_objective(build(resolve(given)))

    def loss(x: Tensor) -> tuple[float, Tensor]:
        objective.flat.restore(x)
        return float(objective.evaluate().loss), objective.flat.gradient.clone()

    return loss, objective.flat.copy()


def ours(loss: Counted, start: Tensor, evaluations: int) -> None:
    """This package's."""
    theta, optimizer, most = start.clone(), LBFGS(HISTORY, gradient_tolerance=0.0), evaluations

    def answer(request: Gradient) -> Measured | None:
        if len(loss.lowest) >= most:
            return None
        value, gradient = loss(theta)
        along = request.along
        return Measured(value, 0.0 if along is None else float(along @ gradient), gradient)

    stop = None
    while stop is None:
        stop = drive(optimizer.step(theta), answer).stop


def scipys(loss: Counted, start: Tensor, evaluations: int) -> None:
    """scipy's L-BFGS-B."""

    def value(x: np.ndarray) -> tuple[float, np.ndarray]:
        found, gradient = loss(torch.from_numpy(x))
        return found, gradient.numpy()

    options = {"maxcor": HISTORY, "maxfun": evaluations, "maxiter": 10**6, "gtol": 0, "ftol": 0}
    minimize(value, start.numpy(), jac=True, method="L-BFGS-B", options=options)


def torchs(loss: Counted, start: Tensor, evaluations: int) -> None:
    """torch's, with its strong-Wolfe search."""
    theta = torch.nn.Parameter(start.clone())
    optimizer = torch.optim.LBFGS(
        [theta], max_iter=10**6, max_eval=evaluations, history_size=HISTORY, tolerance_grad=0,
        tolerance_change=0, line_search_fn="strong_wolfe",
    )  # fmt: skip

    def closure() -> float:
        value, theta.grad = loss(theta.detach())
        return value

    optimizer.step(closure)  # pyright: ignore[reportArgumentType]


CONTENDERS = {"pinnsig": ours, "scipy": scipys, "torch": torchs}
TASKS: dict[str, tuple[Callable[[], tuple[Loss, Tensor]], int, tuple[float, ...]]] = {
    "Rosenbrock, 2": (lambda: rosenbrock(2), 300, (1e-6, 1e-14)),
    "Rosenbrock, 100": (lambda: rosenbrock(100), 1500, (1e-2, 1e-14)),
    "quadratic, 100, 1e4": (lambda: quadratic(100, 1e4), 2000, (1e-3, 1e-12)),
    "quadratic, 100, 1e6": (lambda: quadratic(100, 1e6), 4000, (1e-3, 1e-12)),
    "Burgers, 3 x 20": (lambda: pde("burgers"), 1500, (1e-2, 1e-3)),
    "Black-Scholes, 3 x 20": (lambda: pde("black-scholes"), 1500, (1e-4, 1e-5)),
}


def compare() -> None:
    """Print evaluations to given losses, and the lowest loss, of every contender on every task."""
    print(f"{'task':<24}{'optimiser':<10}{'evaluations to':>24}{'':>12}{'all':>8}{'lowest':>12}")
    for task, (make, evaluations, goals) in TASKS.items():
        for name, run in CONTENDERS.items():
            loss, start = make()
            counted = Counted(loss)
            run(counted, start, evaluations)
            reached = [next((i for i, v in enumerate(counted.lowest, 1) if v <= goal), None)
                       for goal in goals]  # fmt: skip
            cells = "".join(f"{goal:>10.0e}: {count or '-':>6}" for goal, count in
                            zip(goals, reached, strict=True))  # fmt: skip
            print(f"{task:<24}{name:<10}{cells:>36}{len(counted.lowest):>8}"
                  f"{counted.lowest[-1]:>12.2e}", flush=True)  # fmt: skip


def overhead(parameters: int, iterations: int) -> None:
    """Print milliseconds an iteration beside the loss, history full, in turn with torch's."""
    scales = torch.logspace(-3, 0, parameters)
    spent = 0.0

    def loss(x: Tensor) -> tuple[float, Tensor]:
        nonlocal spent
        begun = time.perf_counter()
        gradient = scales * x
        value = 0.5 * float(x @ gradient) + 1.0
        spent += time.perf_counter() - begun
        return value, gradient

    theta, mine = torch.ones(parameters), LBFGS(HISTORY, gradient_tolerance=0.0)

    def answer(request: Gradient) -> Measured:
        value, gradient = loss(theta)
        along = request.along
        return Measured(value, 0.0 if along is None else float(along @ gradient), gradient)

    other = torch.nn.Parameter(torch.ones(parameters))
    theirs = torch.optim.LBFGS([other], max_iter=1, history_size=HISTORY, tolerance_grad=0,
                               tolerance_change=0, line_search_fn="strong_wolfe")  # fmt: skip

    def closure() -> float:
        value, other.grad = loss(other.detach())
        return value

    steps: dict[str, Callable[[], Any]] = {
        "pinnsig": lambda: drive(mine.step(theta), answer),
        "torch": lambda: theirs.step(closure),  # pyright: ignore[reportArgumentType]
    }
    times: dict[str, list[float]] = {name: [] for name in steps}
    for turn in range(HISTORY + iterations):
        for name, step in steps.items():
            spent, begun = 0.0, time.perf_counter()
            step()
            if turn >= HISTORY:
                times[name].append(time.perf_counter() - begun - spent)
    for name, values in times.items():
        print(f"{name:<10}{1e3 * statistics.median(values):8.1f} ms an iteration beside the loss")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parameters", type=int, default=208_000)
    parser.add_argument("--iterations", type=int, default=20)
    arguments = parser.parse_args()
    compare()
    print(f"\n{arguments.parameters} parameters, history {HISTORY}, float32, "
          f"{torch.get_num_threads()} threads, median of {arguments.iterations}")  # fmt: skip
    overhead(arguments.parameters, arguments.iterations)
