"""First-order methods at equal evaluations and in equal time: losses on four problems, float32.

python tests/benchmarks/first_order.py [--seeds 3] [--steps 300] [--deep-steps 40] [--points 150]

Learning rates are each method's best of a few by the median over seeds, with a cosine schedule.
"Equal time" gives the others as many more steps as a step of Muon's takes longer, loss included.
"""

import argparse
import math
import statistics
import time
from typing import Any

from pinnsig.objective import Objective
from pinnsig.optim import Adam, FirstOrder, Layout, Measured, Muon, Schedule, drive
from pinnsig.run.building import build, build_objective
from pinnsig.run.settings import resolve

RATES: dict[type[FirstOrder], tuple[float, ...]] = {
    Adam: (1e-3, 3e-3, 1e-2),
    Muon: (4e-3, 1e-2, 2e-2),
}
PROBLEMS = ("burgers", "black-scholes", "helmholtz", "wave")


def objective(problem: str, depth: int, width: int, points: int, seed: int) -> Objective:
    """What is minimised: 1.3 tanh, calibrated by the rule p(L), fixed points."""
    given: dict[str, Any] = {
        "problem": problem, "dtype": "float32", "depth": depth, "width": width, "act": "tanh",
        "scale": 1.3, "p": "auto", "seed": seed, "collocation": points, "initial": points // 5,
        "boundary": points // 5, "device": "cpu",
    }  # fmt: skip
    return build_objective(build(resolve(given)))


def train(optimizer: FirstOrder, task: Objective, steps: int) -> tuple[float, float]:
    """Return the last loss and the seconds of a step."""
    values = task.flat.values
    shapes = tuple(parameter.shape for parameter in task.flat.parameters)
    optimizer.prepare(Layout(shapes, task.rows, values.dtype, values.device))
    schedule = Schedule("cosine")
    begun = time.perf_counter()
    for step in range(1, steps + 1):
        optimizer.factor = schedule.factor(step, steps)
        drive(
            optimizer.step(values),
            lambda _: Measured(float(task.evaluate().loss), 0.0, task.flat.gradient),
        )
    seconds = (time.perf_counter() - begun) / steps
    found = float(task.evaluate().loss)
    return found if math.isfinite(found) else math.inf, seconds


def longer(kind: type[FirstOrder], task: Objective) -> float:
    """Return how many times as long a step of Muon's takes, in turn, loss included."""
    ratios = []
    for _ in range(5):
        seconds = [train(method(1e-9), task, 4)[1] for method in (Muon, kind)]
        ratios.append(seconds[0] / seconds[1])
    return statistics.median(ratios)


def compare(problem: str, depth: int, width: int, steps: int, points: int, seeds: int) -> None:
    """Print the best rate and the losses of every method on one problem."""

    def losses(kind: type[FirstOrder], rate: float, count: int) -> list[float]:
        tasks = [objective(problem, depth, width, points, seed) for seed in range(seeds)]
        return [train(kind(rate), task, count)[0] for task in tasks]

    for kind, rates in RATES.items():
        tried = {rate: losses(kind, rate, steps) for rate in rates}
        rate = min(rates, key=lambda rate: statistics.median(tried[rate]))
        rows = [("steps", steps, tried[rate])]
        if kind is not Muon:
            ratio = longer(kind, objective(problem, depth, width, points, 0))
            count = max(steps, round(steps * ratio))
            rows.append(("time", count, losses(kind, rate, count)))
        for equal, count, found in rows:
            print(f"{problem:<14}{depth:>3} x {width:<4}{kind.name:<7}equal {equal:<6}{count:>5}"
                  f"{rate:>9.0e}{statistics.median(found):14.2e}"
                  f"  {min(found):.1e} to {max(found):.1e}", flush=True)  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=300, help="at 10 x 32")
    parser.add_argument("--deep-steps", type=int, default=40, help="at 50 x 64; 0 leaves it out")
    parser.add_argument("--points", type=int, default=150, help="of collocation; a fifth on faces")
    parser.add_argument("--problems", nargs="*", default=PROBLEMS)
    given = parser.parse_args()
    print(f"{'problem':<14}{'network':<9}{'method':<7}{'':12}{'steps':>5}{'lr':>9}"
          f"{'median loss':>14}  over seeds")  # fmt: skip
    for problem in given.problems:
        compare(problem, 10, 32, given.steps, given.points, given.seeds)
        if given.deep_steps:
            compare(problem, 50, 64, given.deep_steps, given.points, given.seeds)


if __name__ == "__main__":
    main()
