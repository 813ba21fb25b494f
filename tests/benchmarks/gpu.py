"""All that a GPU has to show, in under eight minutes: right numbers, times, whole runs.

    python tests/benchmarks/gpu.py                       # table on stdout, gpu.json beside it
    python tests/benchmarks/gpu.py --only times,runs
    TRITON_INTERPRET=1 python tests/benchmarks/gpu.py    # without a GPU: tries the script, small

Every part is a process of its own with a limit on its time, so that one that fails, hangs or spoils
its CUDA context costs that part alone: the table says which. Other tunings of the kernels are timed
by `engines.py --sweep`, what the compiler makes of them is said by `kernels.py`.
"""

import argparse
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import pinnsig
from pinnsig.objective import Objective
from pinnsig.objective.batch import Batch
from pinnsig.optim import LBFGS, LM, Adam, Optimizer, drive
from pinnsig.run.benchmark import evaluate_in_float64, make_objective, usable_engines
from pinnsig.run.directory import RunDirectory
from pinnsig.run.settings import resolve
from pinnsig.training.answers import Answers, Best, evaluate_alone

ROOT = Path(__file__).parents[2]
CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
SIZE: dict[str, int] = (
    {"depth": 50, "width": 64, "collocation": 20_000, "initial": 1_000, "boundary": 1_000}
    if CUDA
    else {"depth": 3, "width": 16, "collocation": 96, "initial": 16, "boundary": 16}
)
PAPER: dict[str, Any] = {"problem": "burgers", "init": "xavier", "dtype": "float32",
                         "device": DEVICE, **SIZE}  # fmt: skip
REPEATS = 30 if CUDA else 2
TARGETS = {
    "loss and gradient, fused": 2.0,
    "iteration of Adam, beside the evaluation": 0.3,
    "iteration of L-BFGS, beside its evaluations": 1.0,
    "solve burgers --preset paper": 4.0,
}
"""Upper limits on an H100 or H200, in the unit of the row."""

Row = dict[str, Any]
Part = Callable[[], Iterator[Row]]


def row(what: str, value: float | None, unit: str, ok: bool | None = None, note: str = "") -> Row:
    """A line of the table; whether it is right, or within its target, where that can be said."""
    target = TARGETS.get(what)
    if ok is None and target is not None and value is not None and CUDA:
        ok = value <= target
    return {"what": what, "value": value, "unit": unit, "target": target, "ok": ok, "note": note}


# --- right numbers ------------------------------------------------------------------------------


def accuracy() -> Iterator[Row]:
    """Every engine against nested autograd in float64 on the CPU: loss and gradient."""
    cases: list[dict[str, Any]] = [
        {"act": act} for act in ("tanh", "erf", "gd", "arctan", "softsign2.5", "sin", "gelu")
    ]
    cases += [{"width": 128, "depth": 5}, {"width": 20, "depth": 3}, {"network": "resnet"},
              {"network": "modified-mlp"}, {"network": "pirate"}, {"problem": "heat-2d"},
              {"problem": "poisson-holes"}, {"problem": "kovasznay"}]  # fmt: skip
    for case in cases if CUDA else cases[:1] + cases[-1:]:
        small = {"collocation": 2_000} if CUDA else {}
        settings = resolve({**PAPER, **small, **case})
        name = ", ".join(f"{key} {value}" for key, value in case.items())
        exact: tuple[Tensor, Tensor] | None = None
        found: dict[str, float] = {}
        for engine in usable_engines(settings):
            objective = make_objective(settings, engine)
            exact = exact or evaluate_in_float64(settings, objective, "nested")
            evaluation = objective.evaluate()
            gradient = objective.flat.gradient.cpu().double()
            found[engine] = float((gradient - exact[1]).norm() / exact[1].norm())
            off = abs(float(evaluation.loss) / float(exact[0]) - 1)
            # rounding of one and the same network, within a factor of plain float32's
            limit = max(5 * found["nested"], 2e-5) if "nested" in found else 1e-3
            ok = found[engine] <= limit and off <= 1e-3
            yield row(f"gradient's error, {engine}: {name}", found[engine], "", ok)


def determinism() -> Iterator[Row]:
    """Deterministic gradients, and a run that is interrupted and gone on with: bit for bit."""
    settings = resolve({**PAPER, "deterministic": True})
    objective = make_objective(settings, settings.engine)
    gradients = []
    for _ in range(4):
        objective.evaluate()
        gradients.append(objective.flat.gradient.clone())
    same = all(torch.equal(gradient, gradients[0]) for gradient in gradients)
    yield row(f"deterministic gradients, {objective.engine.name}", None, "", same)
    adam, lbfgs = (20, 10) if CUDA else (2, 1)
    given = {**PAPER, "deterministic": True, "adam": adam, "lbfgs": lbfgs, "figures": False}
    with tempfile.TemporaryDirectory() as place:
        straight = pinnsig.solve(**given, path=Path(place, "a"))

        class Breaks(pinnsig.Callback):
            """Ends the run as a Ctrl-C does, in the middle of Adam's phase."""

            def recorded(self, record: Any) -> None:
                if record.step == adam // 2:
                    import signal

                    signal.raise_signal(signal.SIGINT)

        pinnsig.solve(**given, path=Path(place, "b"), callbacks=[Breaks()])
        again = pinnsig.resume(Path(place, "b"), figures=False)
        first, second = (
            RunDirectory(run.path).load_weights("last.safetensors") for run in (straight, again)
        )
        same = all(torch.equal(first[name], second[name]) for name in first)
    yield row("a run that is resumed ends at the same weights", None, "", same)


def tests() -> Iterator[Row]:
    """The tests that need a GPU."""
    if importlib.util.find_spec("pytest") is None:
        yield row("pytest -m gpu", None, "", None, "pytest is not installed")
        return
    chosen = ["-m", "gpu"] if CUDA else ["tests/derivatives/test_fused.py", "-k", "source"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    last = (done.stdout.strip().splitlines() or [""])[-1]
    yield row("pytest -m gpu", None, "", done.returncode == 0, last)


# --- times --------------------------------------------------------------------------------------


def times() -> Iterator[Row]:
    """One evaluation by each engine, and what the optimisers add."""
    settings = resolve(PAPER)
    for engine in usable_engines(settings):
        objective = make_objective(settings, engine)
        ms = milliseconds(objective.evaluate)
        peak = f"{torch.cuda.max_memory_allocated() / 1e6:.0f} MB at most" if CUDA else ""
        yield row(f"loss and gradient, {engine}", ms, "ms", None, peak)
    objective = make_objective(settings, settings.engine)
    alone = milliseconds(objective.evaluate)
    steps: list[tuple[str, Optimizer]] = [
        ("iteration of Adam, beside the evaluation", Adam(1e-6)),
        ("iteration of L-BFGS, beside its evaluations", LBFGS()),
    ]
    for what, optimizer in steps:
        yield row(what, _beside(objective, optimizer, alone), "ms")
    few = resolve({**PAPER, "dtype": "float64", "collocation": SIZE["collocation"] // 5})
    dense = make_objective(few, "jets")
    lm = LM()
    answers = _prepared(dense, lm)

    def step() -> None:
        drive(answers.iterate(lm.step(dense.flat.values)), evaluate_alone)

    size = f"{dense.rows:,} rows, {dense.flat.values.numel():,} weights"
    yield row(f"step of Levenberg-Marquardt, {size}", milliseconds(step, 3), "ms")


def _beside(objective: Objective, optimizer: Optimizer, alone: float) -> float:
    """Milliseconds of an iteration, less its evaluations."""
    answers = _prepared(objective, optimizer)
    spent = []
    for _ in range(REPEATS + 5):
        before = objective.evaluations
        begun = time.perf_counter()
        drive(answers.iterate(optimizer.step(objective.flat.values)), evaluate_alone)
        _wait()
        ms = 1e3 * (time.perf_counter() - begun)
        spent.append(ms - alone * (objective.evaluations - before))
    return statistics.median(spent[5:])


def _prepared(objective: Objective, optimizer: Optimizer) -> Answers:
    answers = Answers(objective, Best(objective))
    optimizer.prepare(answers.layout())
    return answers


def batches() -> Iterator[Row]:
    """Runs evaluated together against one by one, at the points of the quick preset."""
    for members in (2, 8, 32) if CUDA else (2,):
        given = {**PAPER, "collocation": 2_000, "initial": 200, "boundary": 200} if CUDA else PAPER
        objectives = [
            make_objective(resolve({**given, "seed": seed}), "auto") for seed in range(members)
        ]
        batch, weights = Batch(objectives), [objective.weights for objective in objectives]
        alone = milliseconds(lambda each=objectives: [o.evaluate() for o in each], 10)
        joined = milliseconds(lambda b=batch, w=weights: b.evaluate(w), 10)
        note = f"{alone:.2f} ms one by one, {joined:.2f} ms together"
        yield row(f"{members} runs in one batch, times as fast", alone / joined, "x", None, note)


# --- whole runs ---------------------------------------------------------------------------------


def runs() -> Iterator[Row]:
    """The paper's run, and the accurate preset for a minute."""
    small = [] if CUDA else ["--depth=3", "--width=12", "--collocation=64", "--adam=2", "--lbfgs=2"]
    seconds = f"--max-seconds={60 if CUDA else 1}"
    kinds = {
        "solve burgers --preset paper": ["--preset=paper", *small],
        "solve burgers --preset accurate": ["--preset=accurate", seconds],
    }
    for what, flags in kinds.items():
        with tempfile.TemporaryDirectory() as place:
            command = [sys.executable, "-m", "pinnsig", "solve", "burgers", *flags,
                       f"--device={DEVICE}", f"--runs={place}", "--no-figures", "--quiet",
                       "--json"]  # fmt: skip
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode != 0:
            yield row(what, None, "s", False, (done.stderr.strip().splitlines() or ["?"])[-1])
            continue
        found = json.loads(done.stdout)
        spent = sum(phase["seconds"] for phase in found["phases"])
        note = f"best loss {found['best_loss']:.2e}, relative L2 {found['relative_l2']:.1e}"
        yield row(what, spent, "s", None, f"{note}, {found['seconds']:.1f} s with judging")


def jax() -> Iterator[Row]:
    """A compiled loop in JAX of the same size, and how many times as fast ours is."""
    what = "loss and gradient, JAX compiled"
    if importlib.util.find_spec("jax") is None:
        yield row(what, None, "ms", None, "JAX is not installed")
        return
    sys.path.insert(0, str(Path(__file__).parent))
    peer: Any = importlib.import_module("jax_peer")
    settings = resolve(PAPER)
    ours = make_objective(settings, settings.engine)
    network = ours.model.network.cpu().float()
    draw = torch.Generator().manual_seed(0)
    counts = {"residual": "collocation", "initial": "initial", "boundary": "boundary"}
    points = {term: torch.rand(SIZE[key], 2, generator=draw) for term, key in counts.items()}
    values = {term: torch.zeros(SIZE[term], 1) for term in ("initial", "boundary")}
    theirs = milliseconds(peer.evaluation(network, "ffnn", 0.01 / 3.14159, points, values), 10)
    mine = milliseconds(make_objective(settings, settings.engine).evaluate)
    yield row(what, theirs, "ms")
    yield row("ours against it, times as fast", theirs / mine, "x")


# --- the whole ----------------------------------------------------------------------------------

PARTS: dict[str, tuple[Part, int]] = {
    "accuracy": (accuracy, 120),
    "determinism": (determinism, 60 if CUDA else 150),
    "times": (times, 90),
    "runs": (runs, 130),
    "batches": (batches, 60),
    "jax": (jax, 60),
    "tests": (tests, 120),
}
"""Each with the seconds that it may take; the most wanted first."""

LIMIT = 460  # seconds for all


def milliseconds(work: Callable[[], Any], repeats: int = REPEATS) -> float:
    """Median time of one call, the device's work included, after a warm-up."""
    for _ in range(3 if CUDA else 1):
        work()
    _wait()
    found = []
    for _ in range(repeats):
        begun = time.perf_counter()
        work()
        _wait()
        found.append(1e3 * (time.perf_counter() - begun))
    return statistics.median(found)


def _wait() -> None:
    if CUDA:
        torch.cuda.synchronize()


def run_part(name: str, seconds: float) -> list[Row]:
    """The rows of a part from its own process, those before a failure among them."""
    with tempfile.TemporaryDirectory() as place:
        file = Path(place, "rows.jsonl")
        file.touch()
        command = [sys.executable, __file__, "--part", name, "--rows", str(file)]
        reason = ""
        try:
            done = subprocess.run(
                command, cwd=ROOT, capture_output=True, text=True, timeout=seconds
            )
            if done.returncode != 0:
                reason = (done.stderr.strip().splitlines() or ["no word"])[-1]
        except subprocess.TimeoutExpired:
            reason = f"took more than {seconds:.0f} s"
        rows = [json.loads(line) for line in file.read_text().splitlines()]
    if reason:
        rows.append(row(f"{name} did not end", None, "", False, reason[:160]))
    return [{"part": name, **one} for one in rows]


def print_rows(rows: list[Row]) -> None:
    """The table."""
    for one in rows:
        value = "" if one["value"] is None else f"{one['value']:.3g} {one['unit']}"
        target = "" if one["target"] is None else f"<= {one['target']:g}"
        said = {True: "ok", False: "NOT", None: ""}[one["ok"]]
        print(f"{one['part']:12} {one['what']:58} {value:>12} {target:>8} {said:4} {one['note']}",
              flush=True)  # fmt: skip


def main() -> None:
    """Run the parts, print the table, write JSON; exit code 1 if something is not as it should."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help=f"parts, of {','.join(PARTS)}")
    parser.add_argument("--json", default="gpu.json", help="where the numbers go")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--rows", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not CUDA and os.environ.get("TRITON_INTERPRET") != "1":
        parser.error("there is no CUDA device; TRITON_INTERPRET=1 tries the script on the CPU")
    if options.part:
        with Path(options.rows).open("a") as file:
            for one in PARTS[options.part][0]():
                file.write(json.dumps(one) + "\n")
                file.flush()
        return
    chosen = [name.strip() for name in options.only.split(",") if name.strip()] or list(PARTS)
    for name in chosen:
        if name not in PARTS:
            parser.error(f"there is no part {name!r}: choose of {', '.join(PARTS)}")
    machine = torch.cuda.get_device_name() if CUDA else "CPU, kernels interpreted"
    print(f"{machine}; torch {torch.__version__}, Python {platform.python_version()}; {SIZE}")
    begun, rows = time.monotonic(), list[Row]()
    for name in chosen:
        left = LIMIT - (time.monotonic() - begun)
        if left < 5:
            found = [{"part": name, **row("left out", None, "", None, "no time is left")}]
        else:
            found = run_part(name, min(PARTS[name][1], left))
        print_rows(found)
        rows += found
    facts = {"machine": machine, "torch": torch.__version__, "pinnsig": pinnsig.__version__}
    Path(options.json).write_text(json.dumps({**facts, "size": SIZE, "rows": rows}, indent=1))
    wrong = [one for one in rows if one["ok"] is False]
    print(f"\n{len(rows)} rows, {len(wrong)} not as they should; {options.json}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
