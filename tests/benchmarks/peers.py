"""Times our loss and gradient against other PINN packages: one network, one set of points.

python tests/benchmarks/peers.py [--size small|medium|paper] [--network ffnn] [--repeats 9]

Every contender gets our initial weights and our points of Burgers' equation, and computes the sum
of the mean squares of residual, initial and boundary condition and its gradient, in float32, by
its own code but without its training loop. Packages that are not installed are left out
(`pip install .[peers]`), and so are those that lack the network.
"""

import argparse
import contextlib
import functools
import importlib
import importlib.metadata
import io
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pinnsig.objective import Objective
from pinnsig.problem import Sites
from pinnsig.run.building import build
from pinnsig.run.settings import resolve
from pinnsig.sampling import Counts, draw_sites

Evaluate = Callable[[], tuple[float, Tensor]]
"""The loss, and its gradient in the order of our network's parameters."""


@dataclass(frozen=True)
class Size:
    """Hidden layers and units, and points inside, at the start and on the boundary.

    Attributes:
        row: evaluations in a row whose mean is one repeat, as in training, where nobody else's
            come between.
    """

    depth: int
    width: int
    counts: Counts
    row: int
    network: str = "ffnn"


SIZES = {
    "medium": Size(3, 64, Counts(2540, 160, 80), row=5),
    "small": Size(3, 20, Counts(2540, 160, 80), row=10),
    "paper": Size(50, 64, Counts(20_000, 1000, 1000), row=1),
}


def ours(size: Size) -> Evaluate:
    """This package, with the engine that it chooses itself."""
    objective, _, _ = _start(size)

    def evaluate() -> tuple[float, Tensor]:
        return float(objective.evaluate().loss), objective.flat.gradient

    return evaluate


def plain(size: Size) -> Evaluate:
    """The loop that one writes by hand: nested `torch.autograd.grad`, no package."""
    objective, network, sites = _start(size)
    nu = float(objective.model.problem.values()["nu"])
    points = {k: torch.as_tensor(s.points, dtype=torch.float32) for k, s in sites.items()}
    x, t = (c.contiguous().requires_grad_() for c in points["residual"].T)
    values, ones = _values(sites), torch.ones(len(x))

    def loss() -> Tensor:
        u = network(torch.stack([x, t], 1))[:, 0]
        u_x, u_t = torch.autograd.grad(u, (x, t), ones, create_graph=True)
        (u_xx,) = torch.autograd.grad(u_x, x, ones, create_graph=True)
        total = (u_t + u * u_x - nu * u_xx).square().mean()
        for name, wanted in values.items():
            total = total + (network(points[name]) - wanted).square().mean()
        return total

    for layer in network.modules():  # torch's own function, as one would
        if hasattr(layer, "activation"):
            vars(layer)["activation"] = torch.tanh
    return functools.partial(_backward, network, loss)


def deepxde(size: Size) -> Evaluate:
    """DeepXDE's loss (`Model.outputs_losses_train`) with PyTorch."""
    os.environ["DDE_BACKEND"] = "pytorch"
    dde: Any = importlib.import_module("deepxde")
    objective, network, sites = _start(size)
    nu = float(objective.model.problem.values()["nu"])

    def pde(x: Tensor, u: Tensor) -> Tensor:
        u_x, u_t = (dde.grad.jacobian(u, x, i=0, j=j) for j in (0, 1))
        return u_t + u * u_x - nu * dde.grad.hessian(u, x, i=0, j=0)

    conditions = [
        dde.icbc.PointSetBC(sites[name].points, values.numpy())
        for name, values in _values(sites).items()
    ]
    data = dde.data.PDE(
        dde.geometry.Rectangle([-1, 0], [1, 1]), pde, conditions, anchors=sites["residual"].points
    )
    net = dde.nn.FNN([2, *[size.width] * size.depth, 1], "tanh", "Glorot uniform")
    _copy_weights(network, net)
    model = dde.Model(data, net)
    model.compile("adam", lr=1e-3)
    batch = data.train_next_batch()
    return functools.partial(_backward, net, lambda: model.outputs_losses_train(*batch)[1].sum())


def pina(size: Size) -> Evaluate:
    """PINA's conditions, evaluated by its solver; its training loop is left out."""
    load: Callable[[str], Any] = importlib.import_module
    pina, problems = load("pina"), load("pina.problem")
    objective, network, sites = _start(size)
    nu = float(objective.model.problem.values()["nu"])
    points = {
        name: pina.LabelTensor(torch.as_tensor(found.points, dtype=torch.float32), ["x", "t"])
        for name, found in sites.items()
    }
    residual = load("pina.equation.zoo").BurgersEquation(nu)
    body = {
        "output_variables": ["u"],
        "spatial_domain": load("pina.domain").CartesianDomain({"x": [-1, 1]}),
        "temporal_domain": load("pina.domain").CartesianDomain({"t": [0, 1]}),
        "conditions": {
            "residual": pina.Condition(input=points["residual"], equation=residual),
            **{
                name: pina.Condition(input=points[name], target=pina.LabelTensor(values, ["u"]))
                for name, values in _values(sites).items()
            },
        },
    }
    problem = type("Burgers", (problems.TimeDependentProblem, problems.SpatialProblem), body)()
    net = load("pina.model").FeedForward(2, 1, layers=[size.width] * size.depth, func=nn.Tanh)
    _copy_weights(network, net)
    solver = load("pina.solver").PhysicsInformedSingleModelSolver(problem, net)

    def loss() -> Tensor:
        total = torch.zeros(())
        for name, condition in problem.conditions.items():
            batch = {"input": points[name].clone()}
            if name != "residual":
                batch["target"] = condition.target
            found = condition.evaluate(batch, solver).as_subclass(torch.Tensor)
            total = total + found.square().mean()
        return total

    return functools.partial(_backward, net, loss)


def jax(size: Size) -> Evaluate:
    """A compiled loop in JAX (`jax_peer`)."""
    sys.path.insert(0, str(Path(__file__).parent))
    peer: Any = importlib.import_module("jax_peer")
    objective, network, sites = _start(size)
    nu = float(objective.model.problem.values()["nu"])
    points = {k: torch.as_tensor(s.points, dtype=torch.float32) for k, s in sites.items()}
    return peer.evaluation(network, size.network, nu, points, _values(sites))


CONTENDERS: dict[str, tuple[str, Callable[[Size], Evaluate]]] = {
    "pinnsig": ("pinnsig", ours),
    "plain torch": ("torch", plain),
    "JAX": ("jax", jax),
    "DeepXDE": ("deepxde", deepxde),
    "PINA": ("pina-mathlab", pina),
}
"""The distribution's name and the maker of each; ours first."""


def _start(size: Size) -> tuple[Objective, nn.Module, Mapping[str, Sites]]:
    """Our objective at its initial weights, its network, and the points that all share."""
    shape = {"depth": size.depth, "width": size.width, "dtype": "float32", "device": "cpu"}
    shape["network"] = size.network
    settings = resolve({"problem": "burgers", **shape})
    parts = build(settings)
    sites = draw_sites(parts.problem, size.counts, "lhs", seed=0)
    return Objective(parts.model, settings.engine, sites), parts.model.network, sites


def _values(sites: Mapping[str, Sites]) -> dict[str, Tensor]:
    """What the conditions prescribe at their points, each of shape (N, 1)."""
    x = torch.as_tensor(sites["initial"].points[:, :1], dtype=torch.float32)
    zeros = torch.zeros(len(sites["boundary"].points), 1)
    return {"initial": -torch.sin(torch.pi * x), "boundary": zeros}


@torch.no_grad()
def _copy_weights(source: nn.Module, target: nn.Module) -> None:
    linears = [layer for layer in target.modules() if isinstance(layer, nn.Linear)]
    own = [layer for layer in source.modules() if isinstance(layer, nn.Linear)]
    for ours, theirs in zip(own, linears, strict=True):
        theirs.weight.copy_(ours.weight)
        theirs.bias.copy_(ours.bias)


def _backward(network: nn.Module, loss: Callable[[], Tensor]) -> tuple[float, Tensor]:
    network.zero_grad()
    value = loss()
    value.backward()
    return value.item(), torch.cat([p.grad.reshape(-1) for p in network.parameters()])  # type: ignore[union-attr]


def _make(name: str, size: Size) -> Evaluate:
    rest = io.StringIO()  # some have a lot to say
    with contextlib.redirect_stdout(rest), contextlib.redirect_stderr(rest):
        return CONTENDERS[name][1](size)


def _installed(network: str) -> dict[str, str]:
    """Versions of the contenders that are here and have the network."""
    found = {}
    for name, (distribution, _) in CONTENDERS.items():
        if network != "ffnn" and name in ("DeepXDE", "PINA"):
            continue
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(distribution)
    return found


def _memory(name: str, size: str, network: str) -> dict[str, float]:
    """Peak resident memory of a process that only evaluates this contender, in MB."""
    command = [sys.executable, __file__, "--size", size, "--network", network]
    command += ["--memory-of", name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def _measure_memory(name: str, size: Size) -> None:
    evaluate = _make(name, size)
    before = _peak()
    for _ in range(2):
        evaluate()
    print(json.dumps({"peak": _peak(), "rise": _peak() - before}))


def _peak() -> float:
    """This process's peak resident memory so far, in MB."""
    try:  # `getrusage` on Linux counts the process that started this one, too
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return float(status.split("VmHWM:")[1].split()[0]) / 2**10
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> None:
    """Print a table: each contender's time, its ratio to ours, memory, and what it computed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--network", choices=("ffnn", "modified-mlp", "pirate"), default="ffnn")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--memory-of", choices=CONTENDERS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    size = replace(SIZES[given.size], network=given.network)
    if given.memory_of:
        return _measure_memory(given.memory_of, size)
    versions = _installed(given.network)
    contenders = {name: _make(name, size) for name in versions}
    results = {name: evaluate() for name, evaluate in contenders.items()}  # also warms up
    results = {name: (loss, gradient.clone()) for name, (loss, gradient) in results.items()}
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(given.repeats):
        for name, evaluate in contenders.items():
            begun = time.perf_counter()
            for _ in range(size.row):
                evaluate()
            seconds[name].append((time.perf_counter() - begun) / size.row)
    counts = size.counts
    print(
        f"Burgers, {size.network} {size.depth} x {size.width} tanh, {counts.collocation} + "
        f"{counts.initial + counts.boundary} points, float32, loss + gradient; "
        f"torch {torch.__version__}, {torch.get_num_threads()} threads, "
        f"{given.repeats} repeats of {size.row}\n"
    )
    print("| package | median ms | min ms | ratio | peak MB | rise MB | loss | gradient off by |")
    print("|---|---|---|---|---|---|---|---|")
    first, (_, exact) = next(iter(results.items()))
    for name, (loss, gradient) in results.items():
        median, ratio = (statistics.median(seconds[n]) for n in (name, first))
        memory = _memory(name, given.size, given.network)
        off = float((gradient - exact).norm() / exact.norm())
        print(
            f"| {name} {versions[name]} | {1e3 * median:.1f} | {1e3 * min(seconds[name]):.1f} "
            f"| {median / ratio:.2f} | {memory['peak']:.0f} | {memory['rise']:.0f} "
            f"| {loss:.7g} | {off:.0e} |"
        )
    return None


if __name__ == "__main__":
    main()
