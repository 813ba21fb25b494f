"""Presets, and the settings of a run in full."""

from collections.abc import Collection, Mapping
from typing import Any

from pinnsig.activations import build_activation
from pinnsig.calibration import suited_learning_rate
from pinnsig.core.devices import choose_device
from pinnsig.core.errors import SettingsError
from pinnsig.networks import usual_settings
from pinnsig.run.settings.run import (
    COUNTS,
    POLISHING,
    Settings,
    check_settings,
    hidden_weights,
)

PRESETS: dict[str, dict[str, Any]] = {
    # the protocol of the paper's appendix C.4
    "paper": {
        "depth": 50,
        "width": 64,
        "dtype": "float32",
        "adam": 600,
        "lbfgs": 1000,
        "broyden": 0,
        "lm": 0,
        "collocation": 20_000,
        "initial": 1_000,
        "boundary": 1_000,
        "normalize": False,
        "scaling": "none",
    },
    # a right answer in a minute on two cores
    "quick": {
        "depth": 6,
        "width": 20,
        "dtype": "float64",
        "adam": 100,
        "lbfgs": 100,
        "broyden": 4000,
        "lm": 0,
        "collocation": 2_000,
        "initial": 200,
        "boundary": 200,
        "checkpoint_every": 500,
        "weighting": "start-trace",
    },
    # as far as the time goes
    "accurate": {
        "depth": 4,
        "width": 20,
        "dtype": "float64",
        "adam": 100,
        "lbfgs": 100,
        "broyden": 500,
        "lm": 100_000,
        "collocation": 4_000,
        "initial": 400,
        "boundary": 400,
        "checkpoint_every": 1000,
        "weighting": "start-trace",
        "normalize": True,
        "hard": "auto",
        "max_seconds": 300.0,
    },
}
DEFAULT_PRESET = "quick"
LARGEST = {"lm": 3_000, "broyden": 10_000}
"""Hidden weights above which presets leave a method out, whose iterations an earlier one has."""

PURPOSES = {
    "paper": "the paper's protocol",
    "quick": "a right answer in about a minute",
    "accurate": "as far as the time goes",
}

# Where the paper's point counts (appendix C.4) differ from the preset's
PAPER_POINTS: dict[str, dict[str, int]] = {
    "black-scholes": {"collocation": 30_000, "initial": 4_000, "boundary": 4_000},
}


def resolve(given: Mapping[str, Any]) -> Settings:
    """Fill in what was not given, from the preset.

    Raises:
        ActivationError: there is no such activation.
        SettingsError: see `check_settings`; no problem is named, or phases and their counts both.
        DeviceError: see `choose_device`.
    """
    checked = check_settings(given)
    if "problem" not in checked:
        raise SettingsError("no problem is named, such as burgers")
    counts = [name for name in COUNTS if name in checked]
    if checked.get("phases") and counts:
        raise SettingsError(
            f"{counts[0]} = {checked[counts[0]]} and phases cannot both be given: "
            "each phase has its own number of iterations"
        )
    if checked.get("phases") and checked.get("optimizer", "adam") != "adam":
        raise SettingsError(
            f"optimizer = {checked['optimizer']} and phases cannot both be given: each phase has "
            "its own optimiser"
        )
    preset = checked.get("preset") or DEFAULT_PRESET
    usual = dict(PRESETS[preset])
    if preset == "paper":
        usual |= PAPER_POINTS.get(checked["problem"], {})
    if checked.get("phases"):
        usual |= dict.fromkeys(COUNTS)
    elif {"adam", "lbfgs"} <= set(counts):  # the training is said in full
        usual |= dict.fromkeys(POLISHING, 0)
    usual |= usual_settings(checked.get("network", Settings.network))
    depth, width = (checked.get(name, usual[name]) for name in ("depth", "width"))
    usual = suited_counts(usual, hidden_weights(depth, width), counts)
    name = checked.get("device", Settings.device)
    if name == "mps":  # which has no float64
        usual["dtype"] = "float32"
    merged = {**usual, **checked, "preset": preset}
    merged["device"] = str(choose_device(name, merged["dtype"]))
    if "lr" not in merged:
        act, scale = (merged.get(name, getattr(Settings, name)) for name in ("act", "scale"))
        merged["lr"] = suited_learning_rate(build_activation(act, scale))
    return Settings(**merged)


def suited_counts(
    usual: Mapping[str, Any], weights: int, given: Collection[str] = ()
) -> dict[str, Any]:
    """Return a preset without the methods whose matrices are too large for so many weights.

    Args:
        usual: the preset.
        weights: in the hidden layers.
        given: counts that stay as they are.
    """
    found = dict(usual)
    for name, most in LARGEST.items():
        if found[name] and weights > most and name not in given:
            earlier = COUNTS[1 : COUNTS.index(name)]
            instead = next((n for n in reversed(earlier) if n not in given), earlier[-1])
            found |= {name: 0, instead: found[instead] + found[name]}
    return found
