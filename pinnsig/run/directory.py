"""The run directory: what a run leaves on disk, written atomically and read back.

runs/<problem>/<time>-<id>/
    config.json          every resolved setting, and the environment
    metrics.jsonl        one line per logged iteration
    result.json          losses, errors, counts, stop reasons
    model.safetensors    weights of the lowest loss
    last.safetensors     weights at the end
    state.safetensors    what `resume` goes on from (`pinnsig.run.checkpoints`)
    points.safetensors   the first points of every term, and measured values (`pinnsig.run.points`)
    source/              the user's own code and data, where the problem came from a file
    figures/
    report.html          where `pinnsig report` was asked for one
    slab-1/ ...          of a run over slabs of time: each one's log, weights, points and checkpoint
"""

import contextlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from pinnsig.core.errors import BusyError, RunError, first_line
from pinnsig.core.files import folder_lock, remove_parts, write_whole
from pinnsig.core.json import dumps
from pinnsig.core.paths import nests_too_deep, plain, user_path
from pinnsig.problem import problem_file

SLAB = "slab-"
POINTS = "points.safetensors"
REMAINS = {"config.json", "metrics.jsonl", "problem.py", "source", "figures", POINTS}
"""What a run that was killed before its first checkpoint leaves, which is of no use."""
WEIGHTS = {"best": "model.safetensors", "last": "last.safetensors"}


class RunDirectory:
    """One run on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @staticmethod
    def create(root: str | Path, problem: str) -> "RunDirectory":
        """A new directory under root; never one that exists.

        Raises:
            RunError: it cannot be made.
        """
        file = problem_file(problem)
        name = problem if file is None else file.path.stem
        stamp = time.strftime("%Y%m%d-%H%M%S")
        while True:
            path = user_path(root, RunError) / name / f"{stamp}-{secrets.token_hex(3)}"
            try:
                path.mkdir(parents=True)
            except FileExistsError:
                if path.is_dir():
                    continue
                raise RunError(f"cannot make {path}: a file is in the way") from None
            except OSError as error:
                raise RunError(f"cannot make {path}: {error.strerror}") from None
            return RunDirectory(path)

    @staticmethod
    def make(path: str | Path) -> "RunDirectory":
        """A new directory at a path; one without files may be there already.

        Raises:
            RunError: it cannot be made, or holds files.
        """
        path = user_path(path, RunError)
        try:
            path.mkdir(parents=True, exist_ok=True)
            if any(path.iterdir()):
                raise RunError(f"cannot put a run into {path}: it holds files already")
        except OSError as error:
            raise RunError(f"cannot make {path}: {error.strerror}") from None
        return RunDirectory(path)

    @staticmethod
    def open(path: str | Path) -> "RunDirectory":
        """An existing run.

        Raises:
            RunError: there is none, or something in it leads elsewhere.
        """
        path = user_path(path, RunError)
        if not (path / "config.json").is_file():
            raise RunError(f"{plain(str(path))} is no run directory: it has no config.json")
        for entry in [*path.iterdir(), *path.glob("figures/*")]:
            if entry.is_symlink():  # what is written there would be written elsewhere
                raise RunError(f"{plain(str(entry))} leads out of the run directory: remove it")
        return RunDirectory(path)

    # --- writing --------------------------------------------------------------------------------

    def write_json(self, name: str, data: Mapping[str, Any]) -> None:
        """Write a JSON file atomically."""
        self.write_bytes(name, (dumps(data, 2) + "\n").encode())

    def append_metrics(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Add a line for each record to metrics.jsonl, or none of them.

        Raises:
            RunError: they cannot all be written.
        """
        lines = "".join(dumps(record) + "\n" for record in records).encode()
        path = self.path / "metrics.jsonl"
        with self._writing("metrics.jsonl"):
            before = path.stat().st_size if path.exists() else 0
            try:
                with path.open("ab", buffering=0) as stream:
                    written = 0
                    while written < len(lines):
                        written += stream.write(lines[written:])
            except OSError:
                if path.exists():  # a full disk may have taken a part of a line
                    os.truncate(path, before)
                raise

    def cut_metrics(self, number: int, iteration: int) -> None:
        """Leave out of metrics.jsonl what lies behind an iteration of a phase, and a torn line."""
        kept = []
        for record in self.metrics():
            if (record["number"], record["iteration"]) > (number, iteration):
                break
            kept.append(record)
        text = "".join(dumps(record) + "\n" for record in kept)
        self.write_bytes("metrics.jsonl", text.encode())

    def save_weights(self, name: str, weights: Mapping[str, Tensor]) -> None:
        """Write named tensors atomically."""
        plain = {key: tensor.detach().cpu().contiguous().clone() for key, tensor in weights.items()}
        self.write_bytes(name, save(plain))

    def write_bytes(self, name: str, data: bytes, keep: str | None = None) -> None:
        """Write a file atomically.

        Args:
            name: the file.
            data: its contents.
            keep: what the file that was there is then called; None drops it.

        Raises:
            RunError: it cannot be written; what was there still is.
        """
        with self._writing(name):
            write_whole(self.path / name, data, None if keep is None else self.path / keep)

    def clear_begun(self) -> bool:
        """Remove what a run has left that ended before its first checkpoint.

        Returns:
            Whether the directory is empty now; where there is anything else, nothing is removed.
        """
        names = {entry.name for entry in self.path.iterdir()}
        if not names <= REMAINS or (names and "config.json" not in names):
            return False
        for name in names:
            file = self.path / name
            shutil.rmtree(file) if file.is_dir() else file.unlink()
        return True

    def remove(self, name: str) -> None:
        """Take a file away, if it is there.

        Raises:
            RunError: it cannot be.
        """
        with self._writing(name):
            (self.path / name).unlink(missing_ok=True)

    @contextmanager
    def _writing(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise RunError(f"cannot write {self.path / name}: {error.strerror}") from None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from training this run; the lock ends with the process.

        Raises:
            BusyError: another process has it.
        """
        with folder_lock(self.path) as held:
            if not held:
                raise BusyError(f"{self.path} is being trained by another process")
            with self._writing("its files"):
                remove_parts(self.path)
            yield

    def is_locked(self) -> bool:
        """Return whether another process trains this run at present."""
        with folder_lock(self.path, shared=True) as held:
            return not held

    # --- reading --------------------------------------------------------------------------------

    def read_json(self, name: str) -> dict[str, Any]:
        """Read one of the run's JSON files.

        Raises:
            RunError: it is missing or damaged.
        """
        try:
            found = json.loads((self.path / name).read_text(encoding="utf-8"))
        except OSError:
            raise RunError(f"{self.path} has no {name}: the run did not finish") from None
        except (ValueError, RecursionError):
            raise RunError(f"{self.path / name} is damaged: it is not valid JSON") from None
        if not isinstance(found, dict) or nests_too_deep(found):
            raise RunError(f"{self.path / name} is damaged: it holds no names and values")
        return found

    def is_classifier(self) -> bool:
        """Return whether it is a run of `pinnsig.classify`, and so of no PDE.

        Raises:
            RunError: its config.json is damaged.
        """
        return "dataset" in self.read_json("config.json")

    def metrics(self) -> Iterator[dict[str, Any]]:
        """The logged iterations; a last line cut off by a crash is left out."""
        path = self.path / "metrics.jsonl"
        if not path.is_file() and (slabs := self.slabs()):
            yield from _joined(slabs)
            return
        if not path.is_file():
            raise RunError(f"{self.path} has no metrics.jsonl")
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                return
            if not isinstance(record, dict) or nests_too_deep(record):
                return
            yield record

    def slabs(self) -> "list[RunDirectory]":
        """Return the directories of a run's slabs of time, in order; none for a run without."""
        found = [
            p for p in self.path.glob(f"{SLAB}*") if p.is_dir() and p.name[len(SLAB) :].isdigit()
        ]
        return [RunDirectory(p) for p in sorted(found, key=lambda p: int(p.name[len(SLAB) :]))]

    def slab(self, number: int) -> "RunDirectory":
        """Return the directory of a slab, from 1, which is made if it is not there."""
        path = self.path / f"{SLAB}{number}"
        with self._writing(path.name):
            path.mkdir(exist_ok=True)
        return RunDirectory(path)

    def load_weights(self, name: str) -> dict[str, Tensor]:
        """Read named tensors; no code in the file is ever run.

        Raises:
            RunError: missing or damaged.
        """
        path = self.path / name
        if not path.is_file():
            raise RunError(f"{self.path} has no {name}: the run did not finish")
        try:
            return load_file(path)
        except (SafetensorError, OSError) as error:
            raise RunError(f"{path} is damaged: {first_line(error)}") from None


def _joined(slabs: list[RunDirectory]) -> Iterator[dict[str, Any]]:
    """The logged iterations of slabs one after another, counted on."""
    step = number = 0
    for index, slab in enumerate(slabs, start=1):
        with contextlib.suppress(RunError):
            last = {"step": 0, "number": 0}
            for last in slab.metrics():
                yield {
                    **last, "step": step + last["step"], "number": number + last["number"],
                    "phase": f"slab {index}", "iteration": last["step"], "slab": index,
                }  # fmt: skip
            step, number = step + last["step"], number + last["number"]
