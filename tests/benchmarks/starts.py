"""Calibrated starts against the target rate p, over depths, widths and four problems.

python tests/benchmarks/starts.py [--seeds 2] [--iterations 150]

Prints, for each depth, width and p, the loss of the start and that after L-BFGS, both over the loss
of the zero function, as geometric means over the problems of medians over seeds; float64, fixed
points, unit weights.
"""

import argparse
import statistics
from statistics import geometric_mean

import torch

from pinnsig.optim import LBFGS
from pinnsig.run.building import build, build_objective
from pinnsig.run.judging import zero_loss
from pinnsig.run.settings import resolve
from pinnsig.training import Phase, Trainer

DEPTHS = {20: (2, 3, 6, 10, 12, 20, 35, 50), 64: (3, 6, 20)}
RATES = ("auto", 0.49, 0.3, 0.1, 0.03)
PROBLEMS = ("burgers", "helmholtz", "kdv", "heat")


def ratios(
    problem: str, depth: int, width: int, p: float | str, options: argparse.Namespace
) -> tuple[float, float]:
    """Return both losses over that of the zero function, medians over seeds."""
    starts, ends = [], []
    for seed in range(options.seeds):
        settings = resolve({
            "problem": problem, "depth": depth, "width": width, "p": p, "seed": seed,
            "collocation": 400, "initial": 60, "boundary": 60,
        })  # fmt: skip
        objective = build_objective(build(settings))
        zero, start = zero_loss(objective), float(objective.evaluate().loss)
        outcome = Trainer(objective, [Phase(LBFGS(), options.iterations)]).run()
        starts.append(start / zero)
        ends.append(outcome.best_loss / zero)
    return statistics.median(starts), statistics.median(ends)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Calibrated starts against p")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=150)
    options = parser.parse_args()
    print(f"torch {torch.__version__}, {options.seeds} seeds, L-BFGS {options.iterations}")
    print(f"{'network':8} " + " ".join(f"{f'p = {p}':>18}" for p in RATES))
    for width, depths in DEPTHS.items():
        for depth in depths:
            cells = []
            for p in RATES:
                found = [ratios(problem, depth, width, p, options) for problem in PROBLEMS]
                start, end = (geometric_mean(column) for column in zip(*found, strict=True))
                cells.append(f"{start:9.3g} {end:8.2g}")
            print(f"{f'{depth}x{width}':8} " + " ".join(cells), flush=True)


if __name__ == "__main__":
    main()
