"""Many classifiers: what is done is kept, the rest is trained in groups on several processes."""

import hashlib
import json
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from pinnsig.classify.datasets import ImageSet, load_images
from pinnsig.classify.running import result_data
from pinnsig.classify.settings import ClassifySettings
from pinnsig.classify.training import COMMON, Training
from pinnsig.core.devices import DTYPES
from pinnsig.core.errors import PinnsigError, RunError
from pinnsig.core.json import dumps
from pinnsig.core.memory import available_memory
from pinnsig.run.directory import RunDirectory

TOGETHER = 64  # members on an accelerator at most
SHARE = 0.5  # of its free memory
FORMAT = 1
"""Of what is kept; another number makes everything run again."""

Outcome = dict[str, Any]
"""What a member gave: its settings, `accuracy` and `loss` by epoch, and what `result.json` holds;
or `failed`, with the reason."""


def study(
    members: Sequence[ClassifySettings],
    out: str | Path | None = None,
    *,
    data: str | Path | None = None,
    workers: int = 1,
    tell: Callable[[int, int], None] | None = None,
) -> list[Outcome]:
    """Train every member once and return what became of each, in their order.

    Members that agree in all but activation, initialiser, learning rate and seed train as one
    batch on an accelerator; on a CPU one at a time in each process, which is as fast.

    Args:
        members: their settings.
        out: a folder in which each one's outcome is kept as it ends; those that it holds already
            are not trained again. None keeps nothing.
        data: where the image sets are.
        workers: processes.
        tell: called with how many are done, of how many, as they end.

    Raises:
        PinnsigError: a data set is not there, or the folder cannot be written; nothing was run.
    """
    sets = {name: load_images(name, data) for name in {m.dataset for m in members}}
    names = [_name(member, sets[member.dataset]) for member in members]
    kept = None if out is None else _folder(out)
    done = {} if kept is None else _read(kept, names)
    left = {n: m for n, m in zip(names, members, strict=True) if n not in done}
    if tell is not None:
        tell(len(done), len(done) + len(left))
    for found in _run(_groups(left, sets), sets, data, workers):
        for name, outcome in found.items():
            done[name] = outcome
            if kept is not None:
                kept.write_bytes(f"{name}.json", (dumps(outcome) + "\n").encode())
        if tell is not None:
            tell(len(done), len(set(names)))
    return [done[name] for name in names]


Group = dict[str, ClassifySettings]


def _run(
    groups: Sequence[Group], sets: dict[str, ImageSet], data: Any, workers: int
) -> Iterator[dict[str, Outcome]]:
    if workers <= 1 or len(groups) <= 1:
        for group in groups:
            yield _train(group, sets[next(iter(group.values())).dataset])
        return
    threads = max((os.cpu_count() or 1) // workers, 1)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        min(workers, len(groups)), context, initializer=torch.set_num_threads, initargs=(threads,)
    ) as pool:
        futures = [pool.submit(_train_apart, group, data) for group in groups]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BrokenProcessPool:
            raise RunError("a worker process died (out of memory?); call again to go on") from None
        finally:
            for future in futures:
                future.cancel()


_loaded: dict[tuple[str, Any], ImageSet] = {}  # of a worker process


def _train_apart(group: Group, data: Any) -> dict[str, Outcome]:
    key = next(iter(group.values())).dataset, data
    if key not in _loaded:
        _loaded.clear()
        _loaded[key] = load_images(*key)
    return _train(group, _loaded[key])


def _train(group: Group, images: ImageSet) -> dict[str, Outcome]:
    try:
        training = Training(list(group.values()), images)
    except PinnsigError as error:
        if len(group) == 1:
            return {name: {**m.as_dict(), "failed": str(error)} for name, m in group.items()}
        return {k: v for name in group for k, v in _train({name: group[name]}, images).items()}
    for _ in training.run():
        pass
    found = {}
    for name, member in zip(group, training.members, strict=True):
        outcome = {
            **asdict(member.settings),
            **result_data(member),
            "finite": member.finite,
            "accuracy": [epoch.validation_accuracy for epoch in member.epochs],
            "loss": [epoch.train_loss for epoch in member.epochs],
        }
        found[name] = json.loads(dumps(outcome))  # the same whether it is new or was kept
    return found


def _groups(left: Group, sets: dict[str, ImageSet]) -> list[Group]:
    """Members that train together."""
    alike: dict[str, Group] = {}
    for name, member in left.items():
        alike.setdefault(repr([getattr(member, key) for key in COMMON]), {})[name] = member
    groups = []
    for members in alike.values():
        most = _most(next(iter(members.values())), sets)
        names = list(members)
        for start in range(0, len(names), most):
            groups.append({name: members[name] for name in names[start : start + most]})
    return groups


def _most(member: ClassifySettings, sets: dict[str, ImageSet]) -> int:
    """How many of its kind go together: as many as half of the free memory holds, of a device."""
    device = torch.device(member.device)
    if device.type == "cpu":
        return 1
    inputs = sets[member.dataset].inputs
    weights = (inputs + member.depth * member.width) * member.width
    stacks = 3 * member.depth * member.batch * member.width + 2 * member.batch * inputs
    free = available_memory(device) or 2**32
    each = DTYPES[member.dtype].itemsize * (8 * weights + stacks)
    return max(min(int(SHARE * free / each), TOGETHER), 1)


def _name(member: ClassifySettings, images: ImageSet) -> str:
    """A digest of everything that decides what a member gives, but for the machine."""
    settings = {k: v for k, v in member.as_dict().items() if k != "device"}
    text = dumps({**settings, "images": images.digest, "format": FORMAT})
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _folder(out: str | Path) -> RunDirectory:
    path = Path(out)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"cannot make {path}: {error.strerror}") from None
    return RunDirectory(path)


def _read(kept: RunDirectory, names: Sequence[str]) -> dict[str, Outcome]:
    found = {}
    for name in names:
        try:
            text = (kept.path / f"{name}.json").read_text(encoding="utf-8")
            outcome = json.loads(text)
        except (OSError, ValueError):  # not there, or torn: it is trained again
            continue
        # what failed did so before it was trained, and may not fail again (memory)
        if isinstance(outcome, dict) and "accuracy" in outcome:
            found[name] = outcome
    return found
