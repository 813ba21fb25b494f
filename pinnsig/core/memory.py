"""Memory: how much there is, how much a thing takes in words, and refusing what cannot fit."""

import os
from pathlib import Path

import torch

from pinnsig.core.errors import PinnsigError, SettingsError

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

UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")
ALWAYS_THERE = 2**24
"""Bytes that are not worth asking for."""

HOST = torch.device("cpu")


def available_memory(device: torch.device = HOST) -> int | None:
    """Return the bytes that can still be had on a device; None where the system does not tell.

    On a CPU the limit of a control group counts as well as the machine's memory; on CUDA, memory
    that torch keeps for reuse counts as free.
    """
    if device.type == "cuda":
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return torch.cuda.mem_get_info(device)[0] + unused
    if device.type != "cpu":
        return None
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        amounts = dict(line.split(":", 1) for line in lines)
        free = [1024 * int(amounts["MemAvailable"].split()[0])]
    except (OSError, ValueError, KeyError):
        return _half_of_physical_memory()
    free += [left for group in CONTROL_GROUPS if (left := _left_to_group(*group)) is not None]
    return max(0, min(free))


def in_words(size: float) -> str:
    """Return a number of bytes as people say it: `560 kB`, `1.3 TB`."""
    size, unit = float(size), 0
    while size >= 999.5 and unit < len(UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.3g} {UNITS[unit]}"


def require(
    size: float,
    what: str,
    cure: str,
    device: torch.device = HOST,
    error: type[PinnsigError] = SettingsError,
) -> None:
    """Refuse what would take more memory than can be had, before any of it is taken.

    Args:
        size: bytes.
        what: what takes them, with its size, as a plural.
        cure: what would do instead.
        device: where.
        error: what is raised.

    Raises:
        PinnsigError: of the type `error`; it does not fit.
    """
    if size < ALWAYS_THERE:
        return
    free = available_memory(device)
    if free is not None and size > free:
        raise error(
            f"{what} would take {in_words(size)} of memory, and {in_words(free)} can be had: {cure}"
        )


def _left_to_group(folder: str, limit: str, used: str, cached: str) -> int | None:
    try:
        most, taken = (int((Path(folder) / name).read_text()) for name in (limit, used))
        lines = (Path(folder) / "memory.stat").read_text().splitlines()
        return most - taken + int(dict(line.split() for line in lines)[cached])
    except (OSError, ValueError, KeyError):  # not there, or "max"
        return None


def _half_of_physical_memory() -> int | None:
    """What a system without /proc tells, such as macOS."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):
        return None
