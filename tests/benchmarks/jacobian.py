"""What Jacobian rows cost beside the loss and its gradient, measured side by side.

python tests/benchmarks/jacobian.py [--points 8000] [--depth 4] [--width 40] [--repeats 9]
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch

from pinnsig.objective import Objective
from pinnsig.objective.rows import residual_jacobian
from pinnsig.run.building import build
from pinnsig.run.settings import resolve
from pinnsig.sampling import Counts, draw_sites


def main() -> None:
    """Print medians and the ratio that counts: rows, less writing J alone, over loss + gradient."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    for name, default in {"points": 8000, "depth": 4, "width": 40, "repeats": 9}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--dtype", default="float64")
    given = parser.parse_args()
    settings = resolve(
        {
            "problem": "burgers",
            "depth": given.depth,
            "width": given.width,
            "dtype": given.dtype,
            "device": "cpu",
        }
    )
    parts = build(settings)
    sites = draw_sites(parts.problem, Counts(given.points, 0, 0), "lhs", seed=0)
    objective = Objective(parts.model, settings.engine, sites)
    block = objective.blocks[0]
    out = objective.flat.values.new_zeros(len(block), len(objective.flat))
    work: dict[str, Callable[[], object]] = {
        "loss + gradient": objective.evaluate,
        "writing J alone": lambda: out.fill_(1.0),
        "writing a fresh J": lambda: torch.empty_like(out).fill_(1.0),
        "rows, J given": lambda: residual_jacobian(objective, block, out=out),
        "rows, fresh J": lambda: residual_jacobian(objective, block),
    }
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for call in work.values():
        call()
    for _ in range(given.repeats):
        for name, call in work.items():
            begun = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - begun)
    print(
        f"Burgers, {given.depth} x {given.width} tanh, {given.points} points, {given.dtype}, "
        f"{torch.get_num_threads()} threads; J has {out.nbytes / 1e6:.0f} MB"
    )
    medians = {name: 1e3 * statistics.median(times) for name, times in seconds.items()}
    for name, times in seconds.items():
        print(f"{name:17}  median {medians[name]:8.1f} ms   min {1e3 * min(times):8.1f} ms")
    loss = medians["loss + gradient"]
    given = (medians["rows, J given"] - medians["writing J alone"]) / loss
    fresh = (medians["rows, fresh J"] - medians["writing a fresh J"]) / loss
    print(
        f"(rows - writing) / (loss + gradient): {given:.2f} into a given J, {fresh:.2f} a fresh one"
    )


if __name__ == "__main__":
    main()
