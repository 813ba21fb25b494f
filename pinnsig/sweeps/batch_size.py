"""How many runs of a sweep train together: what can be asked for, and the rule of `auto`.

A device that one run fills gains nothing from more. So `auto` takes as many runs as give each of
its multiprocessors enough points, and fewer where their memory would take more than a share of what
is free.
"""

from collections.abc import Sequence
from typing import Any

import torch

from pinnsig.core.devices import DTYPES
from pinnsig.core.errors import SettingsError
from pinnsig.optim import OPTIMIZERS, Optimizer, SSBroyden
from pinnsig.run.settings import Settings, hidden_weights

POINTS_TO_FILL = 128  # a multiprocessor: eight of the fused engine's blocks
MEMORY = 0.5  # of what is free
MOST = 32
PARTIALS = 6  # carried at each point, about
SPARE_STACKS = 8  # beside those of the layers
OPTIMISER_VECTORS = 120  # of L-BFGS: fifty pairs, and what else is as long


def batch_setting(name: str, value: Any) -> int | str:
    """How many runs train together: `auto`, `off`, or a number, also as text.

    Raises:
        SettingsError: anything else.
    """
    if value in ("auto", "off"):
        return value
    text = str(value).strip()
    if text.isdigit() and int(text) >= 1:
        return int(text)
    raise SettingsError(f"{name} = {value!r} must be auto, off, or a number of runs, at least 1")


def automatic_members(runs: Sequence[Settings]) -> int:
    """How many runs `auto` trains together: 1 unless all are on one CUDA device."""
    devices = {run.device for run in runs}
    if len(devices) != 1 or not (device := devices.pop()).startswith("cuda"):
        return 1
    free, _ = torch.cuda.mem_get_info(device)
    processors = torch.cuda.get_device_properties(device).multi_processor_count
    return min(members_that_fit(run, processors, free) for run in runs)


def members_that_fit(run: Settings, processors: int, free: int) -> int:
    """How many runs fill a device together without filling its memory, at most MOST.

    Args:
        run: the settings of one of them.
        processors: multiprocessors of the device.
        free: bytes.
    """
    points = run.collocation + run.initial + run.boundary
    numbers = (run.depth + SPARE_STACKS) * PARTIALS * points * run.width
    weights = hidden_weights(run.depth, run.width)
    numbers += OPTIMISER_VECTORS * weights
    used = [OPTIMIZERS.get(phase.optimizer, Optimizer) for phase in run.phase_list()]
    if any(issubclass(cls, SSBroyden) for cls in used):
        numbers += weights**2 // 2
    size = numbers * DTYPES[run.dtype].itemsize
    wanted, room = processors * POINTS_TO_FILL // points, int(MEMORY * free) // size
    return max(min(wanted, room, MOST), 1)
