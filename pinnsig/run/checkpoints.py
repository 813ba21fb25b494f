"""Checkpoints: nested data with tensors in one safetensors file, checked whole when read.

Nothing in such a file is ever run as code. `state.safetensors` is the newest; while a run trains,
the one before it is kept as `state.previous.safetensors`. A run that has come to its end keeps one,
and not what a large optimiser remembers.
"""

import hashlib
import json
import math
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from pinnsig.core.errors import RunError, first_line
from pinnsig.run.directory import RunDirectory

FORMAT = "pinnsig state 1"
NEWEST, PREVIOUS = "state.safetensors", "state.previous.safetensors"
KEPT_BYTES = 32_000_000
"""A checkpoint up to this size stays whole after a run's end."""


def save_checkpoint(directory: RunDirectory, state: dict[str, Any]) -> None:
    """Write a state: at every moment at least one whole checkpoint is there.

    Args:
        directory: the run.
        state: dicts, lists, texts, numbers, booleans, None, and tensors.

    Raises:
        RunError: it cannot be written; what was there before still is.
    """
    write_tensors(directory, NEWEST, state, keep=PREVIOUS)


def trim_checkpoint(directory: RunDirectory) -> int:
    """Keep of a finished run's checkpoints what making it longer needs.

    A large one loses the optimiser's memory (a dense inverse Hessian, say): training that goes on
    then starts from the last weights with a new one.

    Returns:
        How many bytes the memory had that was dropped; 0 if it is there.

    Raises:
        RunError: there is no checkpoint, or it cannot be written.
    """
    path = directory.path / NEWEST
    before = path.stat().st_size if path.is_file() else 0
    if before > KEPT_BYTES:
        state, _ = load_checkpoint(directory)
        state["trainer"]["optimizer"] = None
        write_tensors(directory, NEWEST, state)
    (directory.path / PREVIOUS).unlink(missing_ok=True)
    return before - path.stat().st_size if before > KEPT_BYTES else 0


def write_tensors(
    directory: RunDirectory, name: str, data: dict[str, Any], keep: str | None = None
) -> None:
    """Write nested data with tensors into a file, with a checksum; see `save_checkpoint`."""
    tensors: dict[str, Tensor] = {}
    text = json.dumps(_separate(data, tensors), allow_nan=False)
    metadata = {"format": FORMAT, "data": text, "digest": _digest(text, tensors)}
    directory.write_bytes(name, save(tensors, metadata), keep=keep)


def load_checkpoint(directory: RunDirectory) -> tuple[dict[str, Any], str | None]:
    """The newest whole state of a run.

    Returns:
        The state, tensors on the CPU, and a notice where the newest file could not be used.

    Raises:
        RunError: there is none that can be used.
    """
    faults = []
    for name in (NEWEST, PREVIOUS):
        if not (directory.path / name).is_file():
            continue
        try:
            state = read_tensors(directory, name)
        except RunError as error:
            faults.append(str(error))
            continue
        return state, f"{faults[0]}; the checkpoint before it is used" if faults else None
    if faults:
        raise RunError("; ".join(faults) + ": no checkpoint is left to go on from")
    raise RunError(f"{directory.path} has no checkpoint ({NEWEST}): it cannot be resumed")


def read_tensors(directory: RunDirectory, name: str) -> dict[str, Any]:
    """Read what `write_tensors` wrote.

    Raises:
        RunError: it is damaged, or something else.
    """
    path = directory.path / name
    try:
        with safe_open(path, "pt") as opened:
            metadata = opened.metadata() or {}
            tensors = {key: opened.get_tensor(key) for key in opened.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise RunError(f"{path} is damaged: {first_line(error)}") from None
    if metadata.get("format") != FORMAT:
        raise RunError(f"{path} is no checkpoint of this package")
    text = metadata.get("data", "")
    if metadata.get("digest") != _digest(text, tensors):
        raise RunError(f"{path} is damaged: its contents do not match its checksum")
    return _join(json.loads(text), tensors)


def _digest(text: str, tensors: dict[str, Tensor]) -> str:
    found = hashlib.blake2b(text.encode(), digest_size=16)
    for name in sorted(tensors):
        tensor = tensors[name]
        found.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        found.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return found.hexdigest()


def _separate(value: Any, tensors: dict[str, Tensor], path: str = "") -> Any:
    """The same data as JSON: the key of an entry of `tensors` in the place of each tensor."""
    if isinstance(value, Tensor):
        tensors[path] = value.detach().cpu().contiguous().clone()
        return {"tensor": path}
    if isinstance(value, dict):
        return {key: _separate(item, tensors, f"{path}/{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_separate(item, tensors, f"{path}/{i}") for i, item in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):  # JSON has no such numbers
        return {"float": str(value)}
    return value


def _join(value: Any, tensors: dict[str, Tensor]) -> Any:
    if isinstance(value, dict):
        if set(value) == {"tensor"}:
            return tensors[value["tensor"]]
        if set(value) == {"float"}:
            return float(value["float"])
        return {key: _join(item, tensors) for key, item in value.items()}
    return [_join(item, tensors) for item in value] if isinstance(value, list) else value
