"""Checks and times runs in batches against runs one by one: Burgers, 50 x 64 tanh, float32.

    python tests/benchmarks/batch.py                        # a GPU: minutes, most of them compiling
    PINNSIG_COMPILE=0 python tests/benchmarks/batch.py --device cpu --depth 3 --width 20

First one evaluation of each member, alone and in a batch, at the points of both presets; then whole
sweeps, which also have the optimisers' own work, the log and the checkpoints. Alone and in a batch
take turns, and each is compared with the other: after Adam alone the weights have to agree within
rounding, after L-BFGS the losses within the seeds' spread.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

import pinnsig
from pinnsig.objective import Objective
from pinnsig.objective.batch import Batch
from pinnsig.run.building import build, build_objective
from pinnsig.run.directory import RunDirectory
from pinnsig.run.settings import resolve
from pinnsig.sweeps import SweepTable
from pinnsig.sweeps.batch_size import automatic_members

SCALES = (1.0, 1.3, 0.5, 0.8)


def milliseconds(work: Callable[[], Any]) -> float:
    """Time of one call, the device's work included."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    begun = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - begun)


def evaluations(given: dict[str, Any], sizes: Sequence[int], repeats: int) -> None:
    """A table of single evaluations."""
    print(f"{'engine':8} {'points':>7} {'runs':>5} {'ms one by one':>14} {'ms in a batch':>14} "
          f"{'ratio':>6} {'grad. error':>12}")  # fmt: skip
    for members in sizes:
        objectives = [
            build_objective(build(resolve({**given, "scale": SCALES[i % 4], "seed": i})))
            for i in range(members)
        ]
        batch = Batch(objectives)
        row(objectives, batch, repeats)
        del objectives, batch
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def row(objectives: Sequence[Objective], batch: Batch, repeats: int) -> None:
    """Both ways in turn, and the largest difference between their gradients."""

    def alone() -> None:
        for objective in objectives:
            objective.evaluate()

    alone()
    own = [objective.flat.gradient.clone() for objective in objectives]
    weights = [objective.weights for objective in objectives]

    def joined() -> None:
        batch.evaluate(weights)

    for _ in range(2):  # the second time it is recorded
        joined()
    pairs = zip(objectives, own, strict=True)
    error = max(float((o.flat.gradient - g).norm() / g.norm()) for o, g in pairs)
    times = [(milliseconds(alone), milliseconds(joined)) for _ in range(repeats)]
    one, together = (statistics.median(column) for column in zip(*times, strict=True))
    points = sum(len(block) for block in objectives[0].blocks)
    print(f"{objectives[0].engine.name:8} {points:7} {len(objectives):5} {one:14.3f} "
          f"{together:14.3f} {one / together:6.2f} {error:12.1e}")  # fmt: skip


def sweeps(given: dict[str, Any], members: int, runs: int) -> None:
    """Seconds of a run in a sweep, both ways."""
    grid = {**given, "scale": list(SCALES), "seed": list(range(-(-runs // 4))), "log_every": 10}
    print(f"\n{'sweep':12} {'runs':>5} {'s a run alone':>14} {'s in a batch':>13} {'ratio':>6}")
    for name, phases in {
        "Adam": {"adam": 50, "lbfgs": 0},
        "Adam, L-BFGS": {"adam": 50, "lbfgs": 100},
    }.items():
        tables, seconds = [], []
        with tempfile.TemporaryDirectory() as place:
            for batch in ("off", members):
                begun = time.perf_counter()
                out = Path(place, str(batch))
                tables.append(pinnsig.sweep(out=out, batch=batch, **{**grid, **phases}))
                seconds.append((time.perf_counter() - begun) / len(tables[0]))
            off = weights_off(*tables)
        one, together = seconds
        print(f"{name:12} {len(tables[0]):5} {one:14.2f} {together:13.2f} {one / together:6.2f}")
        losses = [[f"{row['best_loss']:.3e}" for row in table] for table in tables]
        print(f"  weights differ by {off:.1e}; losses alone {losses[0]}, in batches {losses[1]}")


def weights_off(one: SweepTable, other: SweepTable) -> float:
    """The largest relative difference between the last weights of two sweeps."""

    def weights(table: SweepTable) -> list[torch.Tensor]:
        found = [
            RunDirectory(table.path / r["run"]).load_weights("last.safetensors") for r in table
        ]
        return [torch.cat([w.flatten() for w in named.values()]) for named in found]

    pairs = zip(weights(one), weights(other), strict=True)
    return max(float((a - b).norm() / b.norm()) for a, b in pairs)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--problem", default="burgers")
    parser.add_argument("--depth", type=int, default=50)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--collocation", type=int, help="points inside, with a tenth of each other")
    parser.add_argument("--engine", action="append", help="[auto and jets]")
    parser.add_argument("--sizes", default="2,4,8,16", help="members of a batch")
    parser.add_argument("--runs", type=int, default=8, help="of each sweep")
    parser.add_argument("--repeats", type=int, default=20)
    options = parser.parse_args()
    named = ("problem", "depth", "width", "device")
    given = {"preset": "quick", **{name: getattr(options, name) for name in named}}
    if options.collocation:
        given["collocation"] = options.collocation
        given["initial"] = given["boundary"] = options.collocation // 10
    device = resolve(given).device
    where = torch.cuda.get_device_name() if device.startswith("cuda") else "CPU"
    print(f"{where}; torch {torch.__version__}, {torch.get_num_threads()} threads; "
          f"{options.depth} x {options.width}; median of {options.repeats}")  # fmt: skip
    sizes = [int(size) for size in options.sizes.split(",")]
    for engine in options.engine or ("auto", "jets"):
        evaluations({**given, "engine": engine}, sizes, options.repeats)
        if (
            device != "cpu" and not options.collocation
        ):  # one run may fill the device: then a batch gains nothing
            evaluations({**given, "engine": engine, "preset": "paper"}, sizes[:2], options.repeats)
    members = automatic_members([resolve(given)])
    print(f"\nauto: {members} at once")
    sweeps(given, members if members > 1 else 4, options.runs)


if __name__ == "__main__":
    main()
