"""Choosing where a run computes, and refusing what is not there before anything starts."""

from pathlib import Path

import torch

from pinnsig.errors import DeviceError

DTYPES = {"float32": torch.float32, "float64": torch.float64}

CONTROL_GROUPS = (
    ("/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
    (
        "/sys/fs/cgroup/memory",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
    ),
)
"""Folder, limit, use, and what of the use is given up on demand; versions 2 and 1."""


def choose_device(name: str, dtype: str) -> torch.device:
    """The device of that name: auto, cpu, cuda, cuda:1, mps.

    `auto` takes CUDA where there is one, then MPS for float32, then the CPU.

    Raises:
        DeviceError: the device is unknown, not on this machine, or lacks the type.
    """
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        mps = torch.backends.mps.is_available() and dtype == "float32"
        return torch.device("mps" if mps else "cpu")
    kind, _, index = name.partition(":")
    if kind not in ("cpu", "cuda", "mps") or (
        ":" in name and (kind != "cuda" or not index.isdigit())
    ):
        raise DeviceError(f"device {name!r} is unknown: choose auto, cpu, cuda, cuda:0 or mps")
    if kind == "mps" and dtype == "float64":
        raise DeviceError("device mps has no float64: choose --dtype float32 or --device cpu")
    if kind == "mps" and not torch.backends.mps.is_available():
        raise DeviceError("device mps is not available on this machine: choose --device cpu")
    if kind == "cuda":
        if not torch.cuda.is_available():
            raise DeviceError("device cuda is not available on this machine: choose --device cpu")
        count = torch.cuda.device_count()
        if index and int(index) >= count:
            raise DeviceError(
                f"device {name} is not there: this machine has cuda:0 to cuda:{count - 1}"
            )
    return torch.device(name)


def available_memory(device: torch.device) -> int | None:
    """Bytes that can still be had on a device; None where the system does not tell.

    On a CPU the limit of a control group counts as well as the machine's memory.
    """
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    if device.type != "cpu":
        return None
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        amounts = dict(line.split(":", 1) for line in lines)
        free = [1024 * int(amounts["MemAvailable"].split()[0])]
    except (OSError, ValueError, KeyError):
        return None
    free += [left for group in CONTROL_GROUPS if (left := _left_to_group(*group)) is not None]
    return max(0, min(free))


def _left_to_group(folder: str, limit: str, used: str, cached: str) -> int | None:
    try:
        most, taken = (int((Path(folder) / name).read_text()) for name in (limit, used))
        lines = (Path(folder) / "memory.stat").read_text().splitlines()
        return most - taken + int(dict(line.split() for line in lines)[cached])
    except (OSError, ValueError, KeyError):  # not there, or "max"
        return None
