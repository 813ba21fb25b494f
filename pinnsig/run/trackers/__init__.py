"""Experiment trackers as callbacks; each needs an extra of its own."""

from collections.abc import Callable

from pinnsig.core.errors import SettingsError
from pinnsig.core.registry import Registry
from pinnsig.run.callbacks import Callback
from pinnsig.run.trackers.mlflow import MLflow
from pinnsig.run.trackers.tensorboard import TensorBoard
from pinnsig.run.trackers.wandb import WandB

TRACKERS: Registry[Callable[[], Callback]] = Registry(
    "tracker", SettingsError, {"tensorboard": TensorBoard, "wandb": WandB, "mlflow": MLflow}
)
"""What makes a tracker with its defaults, by the name that `--track` takes."""

__all__ = ["TRACKERS", "MLflow", "TensorBoard", "WandB"]
