"""Experiment trackers as callbacks; each needs an extra of its own."""

import inspect
from collections.abc import Callable

from pinnsig.core.errors import SettingsError
from pinnsig.core.registry import Registry, unknown
from pinnsig.run.callbacks import Callback
from pinnsig.run.trackers.mlflow import MLflow
from pinnsig.run.trackers.tensorboard import TensorBoard
from pinnsig.run.trackers.wandb import WandB

TRACKERS: Registry[Callable[..., Callback]] = Registry(
    "tracker", SettingsError, {"tensorboard": TensorBoard, "wandb": WandB, "mlflow": MLflow}
)
"""What makes a tracker, by the name that `--track` takes."""


def parse_tracker(text: str) -> Callback:
    """Return a tracker from its name and options, such as `wandb:project=heat,group=first`.

    Raises:
        SettingsError: an unknown name or option, or the tracker is not installed.
    """
    name, _, listed = text.partition(":")
    make = TRACKERS.find(name.strip())
    known = inspect.signature(make).parameters
    given: dict[str, str | int] = {}
    for part in filter(None, (part.strip() for part in listed.split(","))):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not (equals and value):
            raise SettingsError(f"tracker {name}: options are written name=value, not {part!r}")
        if key not in known:
            raise SettingsError(unknown(f"option of {name}", key, known))
        given[key] = int(value) if key == "every" and value.isdigit() else value
    return make(**given)


__all__ = ["TRACKERS", "MLflow", "TensorBoard", "WandB", "parse_tracker"]
