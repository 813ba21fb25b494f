"""Which form a Levenberg-Marquardt step takes, by shape and by the memory there is."""

import os
from dataclasses import dataclass
from pathlib import Path

import torch

from pinnsig.errors import SettingsError
from pinnsig.sizes import bytes_text

SHARE = 0.7  # of the memory that is free
# rows that are computed together: few enough for a CPU's cache, many enough for an accelerator
BLOCK_BYTES = {"cpu": 2**24}
BLOCK_BYTES_ACCELERATOR = 2**30
LEAST_ROWS = 64
PASSES = 16  # over the rows, at most, for the dual form without J


@dataclass(frozen=True)
class Plan:
    """The form of the damped least squares problem.

    Attributes:
        rows, parameters: N and P.
        dual: J J^T (N x N) is factored and not J^T J (P x P).
        held: J stays in memory; else its rows are computed anew for each product.
        orthogonal: there is room for QR of J.
        block: rows that are computed together.
        group: rows kept at once for J J^T without J.
        bytes: memory at its peak.
    """

    rows: int
    parameters: int
    dual: bool
    held: bool
    orthogonal: bool
    block: int
    group: int
    bytes: int

    def __str__(self) -> str:
        """What a user should know, in one line."""
        form, size = ("dual", self.rows) if self.dual else ("primal", self.parameters)
        line = (
            f"{form} form for {self.rows:,} residuals and {self.parameters:,} parameters "
            f"({size:,} x {size:,} matrix), {bytes_text(self.bytes)}"
        )
        if not self.held:
            return f"{line}; J does not fit: its rows are computed anew for each product"
        if not self.orthogonal:
            return f"{line}; without QR: rounding may end it early"
        return line


def make_plan(
    rows: int, parameters: int, dtype: torch.dtype, device: torch.device, free: float
) -> Plan:
    """Return the best form that fits.

    Args:
        rows, parameters: N and P.
        dtype, device: of the parameters; rows are computed in that type.
        free: bytes that may be used.

    Raises:
        SettingsError: none fits; says how much would, and what to do.
    """
    dual = parameters > rows
    short, size = min(rows, parameters), max(rows, parameters)
    cell = 8
    most = min(BLOCK_BYTES.get(device.type, BLOCK_BYTES_ACCELERATOR), free / 8)
    block = min(rows, max(LEAST_ROWS, int(most) // (cell * parameters)))
    group = max(1, -(-2 * rows // PASSES)) if dual else 0
    matrices = 3 * short * short  # the Gram matrix, its factor, and one on the way
    block_cells = block * parameters * (1 if dtype == torch.float64 else 2)
    jacobian = rows * parameters
    needs = {
        (True, True): jacobian + matrices + block_cells + 2 * (size + short) * short,
        (True, False): jacobian + matrices + block_cells,
        (False, False): matrices + 2 * block_cells + group * parameters,
    }
    if device.type == "mps":  # has no QR
        del needs[True, True]
    for (held, orthogonal), cells in needs.items():
        if cell * cells <= free:
            return Plan(rows, parameters, dual, held, orthogonal, block, group, cell * cells)
    least = bytes_text(cell * needs[False, False])
    raise SettingsError(
        f"lm: {rows:,} residuals and {parameters:,} parameters need at least {least} of "
        f"memory, and {bytes_text(free)} may be used: take fewer points or a smaller network, or "
        "gncg, which needs no matrix"
    )


def free_bytes(device: torch.device) -> float:
    """Return how much memory may be used on a device: a share of what is free."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return SHARE * (free + unused)
    return SHARE * _free_host_bytes()


def _free_host_bytes() -> float:
    limits = []
    for path, factor, key in (
        ("/proc/meminfo", 1024, "MemAvailable:"),
        ("/sys/fs/cgroup/memory.max", 1, ""),
    ):
        try:
            lines = Path(path).read_text().splitlines()
            found = next(
                line.removeprefix(key).split()[0] for line in lines if line[: len(key)] == key
            )
            limits.append(factor * float(found))
        except (OSError, StopIteration, ValueError, IndexError):
            continue  # not Linux, or no limit
    if limits:
        return min(limits)
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) / 2
    except (AttributeError, OSError, ValueError):
        return 4e9
