"""Every setting of a classification run."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pinnsig.core.devices import DTYPES, choose_device
from pinnsig.core.errors import SettingsError
from pinnsig.run.settings.checks import (
    check_fields,
    integer,
    negative_rate,
    number,
    setting,
    word,
    yes_or_no,
)

INPUTS = ("standard", "unit")


def _share(name: str, value: Any) -> float:
    checked = number(above=0.0)(name, value)
    if checked >= 1:
        raise SettingsError(f"{name} = {checked:g} must be below 1")
    return checked


@dataclass(frozen=True)
class ClassifySettings:
    """All settings of one run; None means that a rule decides.

    The defaults are the protocol of the paper's appendix C: Adam at 1e-4 omega, batches of 128,
    15 % of the training data held out, cross-entropy, no decay.
    """

    dataset: str = setting(word(), "mnist, fashion-mnist, cifar10, cifar100 or mnist-5k")
    act: str = setting(word(), "activation: a name or an expression", "tanh", "EXPR")
    scale: float = setting(number(above=0.0), "activation scale a in a f(x)", 1.0)
    init: str = setting(
        word(), "initialiser: calibrated, eoc, eoc:sigma_b=0, xavier, he, orthogonal", "calibrated"
    )
    p: float | str | None = setting(
        negative_rate, "calibrated: target negative rate, or auto for p(L)  [auto]", metavar="P"
    )
    sigma_b: float | None = setting(
        number(minimum=0.0), "standard deviation of the biases  [eoc: 0.2, others: 0]"
    )
    depth: int = setting(integer(1), "hidden layers", 50)
    width: int = setting(integer(1), "units in each hidden layer", 64)
    batch_norm: bool = setting(yes_or_no, "batch normalisation before each activation", False)
    samples: int | None = setting(integer(1), "images that are trained on  [all that are left]")
    validation: float = setting(_share, "share of the training images held out", 0.15)
    inputs: str = setting(
        word(*INPUTS), "pixels with mean 0 and deviation 1 (standard), or from 0 to 1 (unit)",
        "standard",
    )  # fmt: skip
    epochs: int = setting(integer(1), "passes over the images", 10)
    iterations: int | None = setting(
        integer(1), "steps of the optimiser in all, in place of epochs"
    )
    batch: int = setting(integer(1), "images in a step", 128)
    lr: float | None = setting(number(above=0.0), "Adam's learning rate  [1e-4 omega; else 1e-3]")
    seed: int = setting(integer(0), "seed of weights, split and order", 0)
    dtype: str = setting(word(*DTYPES), "float32 or float64", "float32")
    device: str = setting(word(), "auto, cpu, cuda, cuda:1 or mps", "auto")

    def as_dict(self) -> dict[str, Any]:
        """Every setting by name."""
        return dataclasses.asdict(self)


def resolve(given: Mapping[str, Any]) -> ClassifySettings:
    """Return checked settings, with the device that is there.

    Raises:
        SettingsError: an unknown name or an unusable value, or no data set is named.
        DeviceError: the device is not there.
    """
    checked = check_fields(ClassifySettings, given)
    if "dataset" not in checked:
        raise SettingsError("no image set is named, such as mnist-5k")
    dtype = checked.get("dtype", ClassifySettings.dtype)
    device = choose_device(checked.get("device", ClassifySettings.device), dtype)
    return ClassifySettings(**{**checked, "device": str(device)})
