"""Checks and times the engines on a GPU: Burgers, 50 x 64 tanh, 20,000 + 2,000 points, float32.

    python tests/benchmarks/engines.py            # about two minutes, most of it compiling
    python tests/benchmarks/engines.py --sweep    # also other tunings; about four minutes

The loss and its gradient are first compared with float64, then timed with CUDA events: the
median, after a warm-up. Without a GPU it runs under TRITON_INTERPRET=1 on small sizes, which
tests the script, not the speed.
"""

import argparse
import itertools
import math
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from pinnsig.activations import parse_activation
from pinnsig.derivatives import Engine, JetsEngine, NestedEngine, Plan
from pinnsig.derivatives.fused import FusedEngine, Tuning
from pinnsig.initializers import Xavier
from pinnsig.networks import FFNN
from pinnsig.optim import Adam, Measured, drive
from pinnsig.run.benchmark import make_objective
from pinnsig.run.settings import resolve

COORDINATES = ("x", "t")
INSIDE = Plan.closing(COORDINATES, [(2, 0), (0, 1)])
VALUE = Plan.closing(COORDINATES, [])
NU = 0.01 / math.pi
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

Evaluate = Callable[[], tuple[Tensor, Tensor]]
"""Gives the loss and its gradient as one vector."""


@dataclass(frozen=True)
class Case:
    """The network and points that every engine is given."""

    network: FFNN
    inside: Tensor
    border: Tensor

    @staticmethod
    def make(options: argparse.Namespace) -> "Case":
        activation = parse_activation(options.activation)
        network = FFNN(2, 1, options.depth, options.width, activation, device=DEVICE)
        Xavier(sigma_b=0.1).fill(network, torch.Generator().manual_seed(0))
        unit = torch.rand(
            options.points + options.points // 10, 2, generator=torch.Generator().manual_seed(1)
        )
        points = (unit * torch.tensor([2.0, 1.0]) - torch.tensor([1.0, 0.0])).to(DEVICE)
        return Case(network, points[: options.points], points[options.points :])

    def double(self) -> "Case":
        """The same in float64."""
        first, last = self.network.linears[0], self.network.linears[-1]
        wide = FFNN(
            2, last.out_features, self.network.depth, first.out_features,
            self.network.activation, torch.float64, device=DEVICE,
        )  # fmt: skip
        for mine, theirs in zip(wide.parameters(), self.network.parameters(), strict=True):
            mine.data.copy_(theirs.data)
        return Case(wide, self.inside.double(), self.border.double())

    def evaluate(self, engine: Engine) -> tuple[Tensor, Tensor]:
        """Burgers' residual inside and a condition on the border, mean squares."""
        u, u_x, u_t, u_xx = engine.partials(self.network, None, self.inside, INSIDE)[..., 0]
        (value,) = engine.partials(self.network, None, self.border, VALUE)[..., 0]
        target = -torch.sin(math.pi * self.border[:, 0])
        loss = (u_t + u * u_x - NU * u_xx).square().mean() + (value - target).square().mean()
        slopes = torch.autograd.grad(loss, list(self.network.parameters()))
        return loss.detach(), torch.cat([slope.flatten() for slope in slopes])


def captured(evaluate: Evaluate) -> Evaluate:
    """The same as one CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            evaluate()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = evaluate()

    def replay() -> tuple[Tensor, Tensor]:
        graph.replay()
        return found

    return replay


def milliseconds(evaluate: Evaluate, repeats: int) -> float:
    """Median time of one evaluation."""
    for _ in range(3):
        evaluate()
    times = []
    for _ in range(repeats):
        if DEVICE == "cuda":
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            evaluate()
            stop.record()
            torch.cuda.synchronize()
            times.append(start.elapsed_time(stop))
        else:
            begun = time.perf_counter()
            evaluate()
            times.append(1e3 * (time.perf_counter() - begun))
    return statistics.median(times)


def measure(
    name: str, evaluate: Evaluate, capture: bool, exact: tuple[Tensor, Tensor], repeats: int
) -> None:
    """Print one row of the table; what fails is a row too."""
    try:
        if DEVICE == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        if capture:
            evaluate = captured(evaluate)
        loss, gradient = evaluate()
        loss_error = abs(float(loss) / float(exact[0]) - 1)
        gradient_error = float((gradient - exact[1]).norm() / exact[1].norm())
        ms = milliseconds(evaluate, repeats)
        peak = torch.cuda.max_memory_allocated() / 1e6 if DEVICE == "cuda" else math.nan
        print(f"{name:44} {ms:9.3f} {peak:9.0f} {loss_error:11.1e} {gradient_error:11.1e}")
    except Exception as error:
        text = (str(error).splitlines() or [""])[0]
        print(f"{name:44} {type(error).__name__}: {text[:100]}")


def iterations(options: argparse.Namespace) -> None:
    """What an iteration of Adam takes beside the evaluation, both as training does them."""
    settings = resolve({
        "problem": "burgers", "act": options.activation, "depth": options.depth,
        "width": options.width, "collocation": options.points, "initial": options.points // 20,
        "boundary": options.points // 20, "device": DEVICE, "dtype": "float32",
    })  # fmt: skip
    objective = make_objective(settings, "fused")
    values, gradient, adam = objective.flat.values, objective.flat.gradient, Adam(1e-5)

    def evaluate(request: object = None) -> Measured:
        del request
        return Measured(float(objective.evaluate().loss), 0.0, gradient)

    def timed(work: Callable[[], object]) -> float:
        times = []
        for _ in range(options.repeats + 5):
            begun = time.perf_counter()
            work()
            if DEVICE == "cuda":
                torch.cuda.synchronize()
            times.append(1e3 * (time.perf_counter() - begun))
        return statistics.median(times[5:])

    alone, whole = timed(evaluate), timed(lambda: drive(adam.step(values), evaluate))
    print(f"evaluation {alone:.3f} ms, iteration of Adam {whole:.3f} ms: {whole - alone:.3f} more")
    print("\n".join(objective.notices))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--depth", type=int, default=50)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--activation", default="tanh")
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--sweep", action="store_true", help="time other tunings as well")
    options = parser.parse_args()
    if DEVICE == "cpu" and os.environ.get("TRITON_INTERPRET") != "1":
        parser.error("there is no CUDA device; TRITON_INTERPRET=1 runs the script on the CPU")

    import triton  # pyright: ignore[reportMissingImports]

    machine = torch.cuda.get_device_name() if DEVICE == "cuda" else "CPU, interpreted"
    print(f"{machine}; torch {torch.__version__}, Triton {triton.__version__}")
    print(
        f"{options.activation} {options.depth} x {options.width}, {options.points:,} + "
        f"{options.points // 10:,} points, float32; median of {options.repeats}"
    )
    print(f"{'':44} {'ms':>9} {'peak MB':>9} {'loss error':>11} {'grad. error':>11}")
    case = Case.make(options)
    exact = case.double().evaluate(JetsEngine())

    def row(name: str, engine: Engine, capture: bool = False) -> None:
        if not capture or DEVICE == "cuda":
            name += ", captured" * capture
            measure(name, lambda: case.evaluate(engine), capture, exact, options.repeats)

    engines: dict[str, Engine] = {
        "nested": NestedEngine(),
        "jets": JetsEngine(),
        "fused": FusedEngine(),
        "fused, deterministic": FusedEngine(deterministic=True),
        "fused, bf16x6": FusedEngine(tuning=Tuning(precision="bf16x6")),
        "fused, ieee": FusedEngine(tuning=Tuning(precision="ieee")),
    }
    for name, engine in engines.items():
        row(name, engine)
    # a capture that fails can spoil those after it, so the most wanted come first
    for name, engine in sorted(engines.items(), key=lambda item: not item[0].startswith("fused")):
        row(name, engine, capture=True)
    iterations(options)
    if options.sweep:
        for warps, stages, slabs in itertools.product((4, 8), (1, 2, 3), (1, 8, 32)):
            tuning = Tuning(warps=warps, stages=stages, slabs=slabs)
            row(
                f"fused, {warps} warps, {stages} stages, {slabs} slabs",
                FusedEngine(tuning=tuning),
                True,
            )
        row(
            "fused, 32 points, 8 warps", FusedEngine(tuning=Tuning(block=32, warps=8)), capture=True
        )


if __name__ == "__main__":
    main()
