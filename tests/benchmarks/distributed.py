"""One loss and gradient shared by processes, beside the same number of threads in one process.

OMP_NUM_THREADS=2 python tests/benchmarks/distributed.py
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch

from pinnsig.objective import Evaluation
from pinnsig.run.building import build, build_objective
from pinnsig.run.following import End, OwnParts, lead
from pinnsig.run.processes import joined
from pinnsig.run.settings import resolve

PAPER = {
    "problem": "burgers", "preset": "paper", "collocation": 20_000, "initial": 1_000,
    "boundary": 1_000, "device": "cpu",
}  # fmt: skip


def seconds(evaluate: Callable[[], Evaluation], threads: int) -> float:
    """Return how long one evaluation takes on so many threads of this process."""
    torch.set_num_threads(threads)
    begun = time.perf_counter()
    float(evaluate().loss)
    return time.perf_counter() - begun


def main() -> None:
    """Take turns, and print both times and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--depth", type=int, default=50)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--turns", type=int, default=15)
    given = parser.parse_args()
    settings = resolve({**PAPER, "depth": given.depth, "width": given.width})
    threads = torch.get_num_threads()
    with joined(given.processes) as ranks:
        own = torch.get_num_threads()
        parts = build(settings)
        lead(ranks, parts, OwnParts())
        dealt, whole = build_objective(parts, ranks=ranks), build_objective(build(settings))
        turns: list[tuple[float, float]] = []
        for _ in range(given.turns + 2):
            turns.append((seconds(whole.evaluate, threads), seconds(dealt.evaluate, own)))
        found, expected = dealt.evaluate().loss, whole.evaluate().loss
        for rank in ranks.others:
            ranks.send(rank, End(None))
    alone, together = zip(*turns[2:], strict=True)
    speeds = [a / b for a, b in turns[2:]]
    print(f"{given.depth} x {given.width}, {settings.dtype}, losses {found:.8e} and {expected:.8e}")
    print(f"1 process of {threads} threads:  median {statistics.median(alone):.4f} s, "
          f"least {min(alone):.4f}")  # fmt: skip
    print(f"{given.processes} processes of {own} threads: median {statistics.median(together):.4f} "
          f"s, least {min(together):.4f}")  # fmt: skip
    print(f"speed: median of ratios {statistics.median(speeds):.3f}, of the least times "
          f"{min(alone) / min(together):.3f}")  # fmt: skip


if __name__ == "__main__":
    main()
