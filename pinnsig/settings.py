"""Every setting of a run: its name, type, range, help and default; presets; configuration files.

The same names serve the command line (`--scale 1.3`), configuration files (`scale = 1.3`),
`config.json` and Python (`solve("burgers", scale=1.3)`).
"""

import dataclasses
import difflib
import json
import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from pinnsig.devices import DTYPES, choose_device
from pinnsig.errors import SettingsError

Check = Callable[[str, Any], Any]


def integer(minimum: int) -> Check:
    """Whole numbers of at least `minimum`."""

    def check(name: str, value: Any) -> int:
        if not isinstance(value, Integral) or isinstance(value, bool):
            raise SettingsError(f"{name} = {value!r} must be a whole number")
        if value < minimum:
            raise SettingsError(f"{name} = {value} must be at least {minimum}")
        return int(value)

    return check


def number(*, above: float | None = None, minimum: float | None = None) -> Check:
    """Finite real numbers, above a limit or of at least a minimum."""

    def check(name: str, value: Any) -> float:
        if not isinstance(value, Real) or isinstance(value, bool):
            quoted = " (without quotes in a file)" if isinstance(value, str) else ""
            raise SettingsError(f"{name} = {value!r} must be a number{quoted}")
        try:
            number = float(value)
        except OverflowError:  # a whole number of more than 308 digits
            number = math.inf
        if not math.isfinite(number):
            raise SettingsError(f"{name} = {number} must be finite")
        if above is not None and number <= above:
            raise SettingsError(f"{name} = {number:g} must be greater than {above:g}")
        if minimum is not None and number < minimum:
            raise SettingsError(f"{name} = {number:g} must be at least {minimum:g}")
        return number

    return check


def word(*options: str) -> Check:
    """One of a few words; any text if none are named."""

    def check(name: str, value: Any) -> str:
        if not isinstance(value, str) or not value.strip():
            raise SettingsError(f"{name} = {value!r} must be a word")
        if options and value not in options:
            near = difflib.get_close_matches(value, options, n=1)
            hint = f"did you mean {near[0]}?" if near else f"choose {', '.join(options)}"
            raise SettingsError(f"{name} = {value!r} is unknown: {hint}")
        return value

    return check


def yes_or_no(name: str, value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise SettingsError(f"{name} = {value!r} must be true or false")
    return value


def negative_rate(name: str, value: Any) -> float | str:
    """A target negative rate, or `auto` for the rule p(L)."""
    if value == "auto":
        return "auto"
    checked = number(minimum=0.0)(name, value)
    if checked >= 0.5:
        raise SettingsError(f"{name} = {value:g} must be below 0.5, or auto for the rule p(L)")
    return checked


def table(name: str, value: Any) -> dict[str, Any]:
    """Names with values."""
    if not isinstance(value, Mapping):
        raise SettingsError(f"{name} = {value!r} must be a table of names and values")
    return dict(value)


def weights(name: str, value: Any) -> dict[str, float]:
    """Term names with factors that are not negative."""
    return {t: number(minimum=0.0)(f"{name} of {t}", w) for t, w in table(name, value).items()}


def _setting(check: Check, help: str, default: Any = None, metavar: str | None = None) -> Any:
    data = {"check": check, "help": help, "metavar": metavar}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=data)
    return field(default=default, metadata=data)


@dataclass(frozen=True)
class Settings:
    """All settings of one run; None means that a preset or a rule decides (see `resolve`)."""

    problem: str = _setting(word(), "a registered problem, or a file such as my_pde.py")
    act: str = _setting(word(), "activation: a name or an expression", "tanh", "EXPR")
    scale: float = _setting(number(above=0.0), "activation scale a in a f(x)", 1.0)
    init: str = _setting(
        word(), "initialiser: calibrated, eoc, eoc:sigma_b=0, xavier, he, orthogonal", "calibrated"
    )
    p: float | str | None = _setting(
        negative_rate, "calibrated: target negative rate, or auto for p(L)  [0.49]", metavar="P"
    )
    sigma_b: float | None = _setting(
        number(minimum=0.0), "standard deviation of the biases  [eoc: 0.2, others: 0]"
    )
    depth: int = _setting(integer(1), "hidden layers", 50)
    width: int = _setting(integer(1), "units in each hidden layer", 64)
    adam: int = _setting(integer(0), "Adam iterations  [preset]")
    lbfgs: int = _setting(integer(0), "L-BFGS iterations, after Adam  [preset]")
    lr: float = _setting(number(above=0.0), "Adam's learning rate  [1e-4 omega]")
    collocation: int = _setting(integer(1), "collocation points  [preset]")
    initial: int = _setting(integer(0), "initial points  [preset]")
    boundary: int = _setting(integer(0), "boundary points in all, over all faces  [preset]")
    sampler: str = _setting(word(), "lhs, uniform, sobol, halton or grid", "lhs")
    set: dict[str, Any] = _setting(table, "a coefficient of the problem", {}, "NAME=VALUE")
    weight: dict[str, float] = _setting(weights, "the weight of a loss term", {}, "TERM=VALUE")
    seed: int = _setting(integer(0), "seed of weights and points", 0)
    dtype: str = _setting(word(*DTYPES), "float32 or float64", "float32")
    device: str = _setting(word(), "auto, cpu, cuda, cuda:1 or mps", "auto")
    engine: str = _setting(word(), "derivative engine: auto, fused, jets or nested", "auto")
    deterministic: bool = _setting(
        yes_or_no, "gradients the same bit for bit every time, on a GPU too", False
    )
    preset: str = _setting(
        word("paper", "quick"), "paper or quick  [paper on an accelerator, quick on a CPU]"
    )
    log_every: int = _setting(integer(1), "log every so many iterations", 1, "N")

    def as_dict(self) -> dict[str, Any]:
        """Every setting by name."""
        return dataclasses.asdict(self)


PRESETS: dict[str, dict[str, int]] = {
    "paper": {
        "adam": 600,
        "lbfgs": 1000,
        "collocation": 20_000,
        "initial": 1_000,
        "boundary": 1_000,
    },
    "quick": {"adam": 200, "lbfgs": 500, "collocation": 2_000, "initial": 200, "boundary": 200},
}

# Where the paper's point counts (appendix C.4) differ from the preset's
PAPER_POINTS: dict[str, dict[str, int]] = {
    "black-scholes": {"collocation": 30_000, "initial": 4_000, "boundary": 4_000},
}


def check_settings(given: Mapping[str, Any], source: str = "") -> dict[str, Any]:
    """Check names and values; None means not given.

    Raises:
        SettingsError: an unknown name, or a value of the wrong type or out of range.
    """
    known = {f.name: f for f in fields(Settings)}
    where = f"{source}: " if source else ""
    checked = {}
    for name, value in given.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
            raise SettingsError(f"{where}setting {name!r} is unknown: {hint}")
        if value is not None:
            try:
                checked[name] = known[name].metadata["check"](name, value)
            except SettingsError as error:
                raise SettingsError(f"{where}{error}") from None
    return checked


def read_config(path: str | Path) -> dict[str, Any]:
    """Settings from a TOML file, or from the `config.json` of a run.

    Raises:
        SettingsError: no such file, a syntax error, or settings that `check_settings` refuses.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")  # editors on Windows write a mark in front
    except OSError as error:
        raise SettingsError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"cannot read {path}: it is no text file") from None
    kind = "JSON" if path.suffix.lower() == ".json" else "TOML"
    try:
        data = json.loads(text) if kind == "JSON" else tomllib.loads(text)
    except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
        raise SettingsError(f"{path} is not valid {kind}: {str(error).splitlines()[0]}") from None
    if not isinstance(data, dict):
        raise SettingsError(f"{path} must hold a table of settings")
    data.pop("environment", None)  # what a run adds about the machine
    return check_settings(data, str(path))


def resolve(given: Mapping[str, Any]) -> Settings:
    """Fill in what was not given: the device, then the preset that suits it.

    Raises:
        SettingsError: see `check_settings`; or no problem is named.
        DeviceError: see `choose_device`.
    """
    checked = check_settings(given)
    if "problem" not in checked:
        raise SettingsError("no problem is named, such as burgers")
    defaults = Settings()
    device = choose_device(
        checked.get("device", defaults.device), checked.get("dtype", defaults.dtype)
    )
    preset = checked.get("preset") or ("quick" if device.type == "cpu" else "paper")
    points = PAPER_POINTS.get(checked["problem"], {}) if preset == "paper" else {}
    return Settings(
        **{**PRESETS[preset], **points, **checked, "preset": preset, "device": str(device)}
    )
