"""Which form a Levenberg-Marquardt step takes, by shape and by the memory there is."""

from dataclasses import dataclass

import torch

from pinnsig.core.errors import SettingsError
from pinnsig.core.memory import available_memory, in_words

SHARE = 0.7  # of the memory that is free
UNKNOWN_BYTES = 4e9  # where the system does not tell
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
        bytes: memory at its peak, of one process.
        shares: processes that hold as many rows each.
    """

    rows: int
    parameters: int
    dual: bool
    held: bool
    orthogonal: bool
    block: int
    group: int
    bytes: int
    shares: int = 1

    def __str__(self) -> str:
        """What a user should know, in one line."""
        form, size = ("dual", self.rows) if self.dual else ("primal", self.parameters)
        line = (
            f"{form} form for {self.rows:,} residuals and {self.parameters:,} parameters "
            f"({size:,} x {size:,} matrix), {in_words(self.bytes)}"
        )
        if self.shares > 1:
            line += f" in each of {self.shares} processes"
        if not self.held:
            return f"{line}; J does not fit: its rows are computed anew for each product"
        if not self.orthogonal:
            return f"{line}; without QR: rounding may end it early"
        return line


def make_plan(
    rows: int,
    parameters: int,
    dtype: torch.dtype,
    device: torch.device,
    free: float,
    shares: int = 1,
) -> Plan:
    """Return the best form that fits.

    Args:
        rows, parameters: N and P.
        dtype, device: of the parameters; rows are computed in that type.
        free: bytes that may be used.
        shares: processes that hold as many rows each, and share the memory of a CPU.

    Raises:
        SettingsError: none fits; says how much would, and what to do.
    """
    free = free / shares if device.type == "cpu" else free
    dual = parameters > rows
    short, size = min(rows, parameters), max(rows, parameters)
    cell = 8
    most = min(BLOCK_BYTES.get(device.type, BLOCK_BYTES_ACCELERATOR), free / 8)
    block = min(rows, max(LEAST_ROWS, int(most) // (cell * parameters)))
    group = max(1, -(-2 * rows // PASSES)) if dual else 0
    matrices = 3 * short * short  # the Gram matrix, its factor, and one on the way
    block_cells = block * parameters * (1 if dtype == torch.float64 else 2)
    jacobian = -(-rows // shares) * parameters
    needs = {
        (True, True): jacobian + matrices + block_cells + 2 * (size + short) * short,
        (True, False): jacobian + matrices + block_cells,
        (False, False): matrices + 2 * block_cells + group * parameters,
    }
    if device.type == "mps" or shares > 1:  # has no QR, which needs all of J
        del needs[True, True]
    for (held, orthogonal), cells in needs.items():
        if cell * cells <= free:
            return Plan(
                rows, parameters, dual, held, orthogonal, block, group, cell * cells, shares
            )
    raise SettingsError(
        f"lm: {rows:,} residuals and {parameters:,} parameters need at least "
        f"{in_words(cell * needs[False, False])} of memory, and {in_words(free)} may be used: take "
        "fewer points or a smaller network, or gncg, which needs no matrix"
    )


def free_bytes(device: torch.device) -> float:
    """Return how much memory may be used on a device: a share of what is free."""
    free = available_memory(device)
    return SHARE * (UNKNOWN_BYTES if free is None else free)
