"""What a run was made with: versions, platform, threads, accelerator."""

import os
import platform
import subprocess
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch

from pinnsig.core.version import __version__
from pinnsig.run.directory import RunDirectory

PACKAGES = ("torch", "numpy", "scipy", "matplotlib", "pydoe", "safetensors")


def version_notices(directory: RunDirectory) -> tuple[str, ...]:
    """A line where a run was made with another version of this package."""
    made = directory.read_json("config.json").get("environment")
    before = made.get("versions") if isinstance(made, Mapping) else None
    then = before.get("pinnsig") if isinstance(before, Mapping) else None
    now = __version__
    if then in (None, now):
        return ()
    return (f"{directory.path} was made with pinnsig {then}, this is {now}: numbers may differ",)


def environment() -> dict[str, Any]:
    """Versions, platform and, inside a git checkout, the commit."""
    versions = {"pinnsig": __version__}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "versions": versions,
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "accelerator": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "git_commit": _git_commit(),
    }


def _git_commit() -> str | None:
    try:
        found = subprocess.run(
            ["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip() or None
