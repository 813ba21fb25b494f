"""`classify`: one classifier, from settings to a run directory, and on from its checkpoint."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torch import Tensor

from pinnsig.activations import build_activation
from pinnsig.classify.datasets import ImageSet, load_images
from pinnsig.classify.settings import ClassifySettings, resolve
from pinnsig.classify.training import Epoch, Trained, Training
from pinnsig.core.errors import RunError
from pinnsig.core.interrupts import interruptible
from pinnsig.core.json import dumps
from pinnsig.initializers import parse_initializer
from pinnsig.run.checkpoints import load_checkpoint, save_checkpoint
from pinnsig.run.directory import RunDirectory
from pinnsig.run.environment import environment
from pinnsig.training import FINISHED, INTERRUPTED, NON_FINITE

Tell = Callable[[Epoch], None]

Started = Callable[[Path, Trained], None]


def classify(
    dataset: str,
    *,
    data: str | Path | None = None,
    runs: str | Path = "runs",
    started: Started | None = None,
    tell: Tell | None = None,
    interrupting: Callable[[int], None] | None = None,
    **given: Any,
) -> tuple[Path, dict[str, Any]]:
    """Train a classifier on images and leave a run directory.

    Args:
        dataset: see `load_images`.
        data: where its files are.
        runs: where run directories go.
        started: called before training with the run directory, and with the member's settings
            and notices.
        tell: called with the record of each epoch.
        interrupting: called at the first Ctrl-C or SIGTERM, within the handler.
        given: settings by name (`ClassifySettings`).

    Returns:
        The run directory, and what its `result.json` holds.

    Raises:
        PinnsigError: a setting or the data set cannot be used; nothing is left behind.
    """
    settings = resolve({**given, "dataset": dataset})
    images = load_images(settings.dataset, data)
    training = Training([settings], images)
    directory = RunDirectory.create(runs, settings.dataset)
    with directory.locked():
        _write_config(directory, training.members[0].settings, images, data)
        return _run(directory, training, started, tell, interrupting)


def resume_classifier(
    run: str | Path,
    *,
    data: str | Path | None = None,
    started: Started | None = None,
    tell: Tell | None = None,
    interrupting: Callable[[int], None] | None = None,
) -> tuple[Path, dict[str, Any]]:
    """Go on with a run that was interrupted; arguments as of `classify`.

    Raises:
        RunError: no such run, no checkpoint, nothing left to do, or another data set.
    """
    directory = RunDirectory.open(run)
    saved = directory.read_json("config.json")
    settings = resolve(
        {n: v for n, v in saved.items() if n in ClassifySettings.__dataclass_fields__}
    )
    images = load_images(settings.dataset, data or saved.get("data"))
    if images.digest != saved.get("images"):
        raise RunError(f"{directory.path} was trained on other images of {settings.dataset}")
    with directory.locked():
        state, notice = load_checkpoint(directory)
        training = Training([settings], images)
        training.load(state)
        # killed between its last epoch and its result, a run has only that left to do
        if training.ended and _has_result(directory):
            raise RunError(f"{directory.path} has nothing left to do")
        if notice is not None:
            member = training.members[0]
            member.notices = (*member.notices, notice)
        return _run(directory, training, started, tell, interrupting)


def _has_result(directory: RunDirectory) -> bool:
    there = (directory.path / "result.json").is_file()
    return there and directory.read_json("result.json").get("stop") != INTERRUPTED


def _write_config(
    directory: RunDirectory, settings: ClassifySettings, images: ImageSet, data: Any
) -> None:
    place = None if data is None else str(Path(data).absolute())
    directory.write_json("config.json", {
        **settings.as_dict(), "data": place, "images": images.digest,
        "environment": environment(),
    })  # fmt: skip


def _run(
    directory: RunDirectory,
    training: Training,
    started: Started | None,
    tell: Tell | None,
    interrupting: Callable[[int], None] | None,
) -> tuple[Path, dict[str, Any]]:
    member = training.members[0]
    stop = FINISHED
    if started is not None:
        started(directory.path, member)
    with interruptible(interrupting or (lambda _: None)) as heard:
        lines = [dumps(asdict(epoch)) + "\n" for epoch in member.epochs]
        directory.write_bytes("metrics.jsonl", "".join(lines).encode())  # without a torn end
        for (record,) in training.run(heard.asked):
            directory.append_metrics([asdict(record)])
            if tell is not None:
                tell(record)
            _save(directory, training)
        if not training.ended:
            stop = INTERRUPTED
    if not member.finite:
        stop = NON_FINITE
    result = {"run": str(directory.path), **result_data(member), "stop": stop}
    directory.write_json("result.json", result)
    return directory.path, result


def result_data(member: Trained) -> dict[str, Any]:
    """What a run gave, by name."""
    settings, f = member.settings, build_activation(member.settings.act, member.settings.scale)
    initializer = parse_initializer(settings.init)
    best = member.best_epoch if member.epochs else None
    return {
        "dataset": settings.dataset,
        "activation": f.expression,
        "initializer": settings.init,
        "initialization": initializer.describe(f, settings.depth).as_dict(),
        "depth": settings.depth,
        "width": settings.width,
        "batch_norm": settings.batch_norm,
        "best_validation_accuracy": None if best is None else best.validation_accuracy,
        "best_epoch": None if best is None else best.epoch,
        "test_accuracy": member.test_accuracy,
        "last_train_loss": member.epochs[-1].train_loss if member.epochs else None,
        "learning_rate": settings.lr,
        "epochs": len(member.epochs),
        "iterations": member.epochs[-1].iteration if member.epochs else 0,
        "seconds": member.epochs[-1].seconds if member.epochs else 0.0,
        "notices": list(member.notices),
    }


def _save(directory: RunDirectory, training: Training) -> None:
    """Weights of the best and the last epoch, and what goes on from here."""
    networks, member = training.networks, training.members[0]
    statistics = [s[0] for s in networks.statistics()]
    directory.save_weights("last.safetensors", _named(training, networks.theta[0], statistics))
    assert member.best is not None
    named = _named(training, member.best, member.best_statistics)
    directory.save_weights("model.safetensors", named)
    save_checkpoint(directory, training.state())


def _named(training: Training, theta: Tensor, statistics: Sequence[Tensor]) -> dict[str, Tensor]:
    """Weights by the names that `FFNN` has for them; norms by those of torch's `BatchNorm1d`."""
    depth = training.networks.shape.depth
    found: dict[str, Tensor] = {}
    for index, layer in enumerate(training.networks.shape.views(theta.unsqueeze(0))):
        found[f"layers.{index}.weight"] = layer.weight[0]
        found[f"layers.{index}.bias"] = layer.bias[0, 0]
        if layer.gain is not None and layer.shift is not None:
            found[f"norms.{index}.weight"] = layer.gain[0, 0]
            found[f"norms.{index}.bias"] = layer.shift[0, 0]
            found[f"norms.{index}.running_mean"] = statistics[index][0]
            found[f"norms.{index}.running_var"] = statistics[depth + index][0]
    return found
