"""Choosing where a run computes, and refusing what is not there before anything starts."""

import torch

from pinnsig.core.errors import DeviceError

DTYPES = {"float32": torch.float32, "float64": torch.float64}


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
