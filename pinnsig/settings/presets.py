"""Presets, and the settings of a run in full."""

from collections.abc import Mapping
from typing import Any

from pinnsig.devices import choose_device
from pinnsig.errors import SettingsError
from pinnsig.settings.run import Settings, check_settings

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


def resolve(given: Mapping[str, Any]) -> Settings:
    """Fill in what was not given: the device, then the preset that suits it.

    Raises:
        SettingsError: see `check_settings`; no problem is named, or phases and their counts both.
        DeviceError: see `choose_device`.
    """
    checked = check_settings(given)
    if "problem" not in checked:
        raise SettingsError("no problem is named, such as burgers")
    counts = [name for name in ("adam", "lbfgs") if name in checked]
    if checked.get("phases") and counts:
        raise SettingsError(
            f"{counts[0]} = {checked[counts[0]]} and phases cannot both be given: "
            "each phase has its own number of iterations"
        )
    defaults = Settings()
    device = choose_device(
        checked.get("device", defaults.device), checked.get("dtype", defaults.dtype)
    )
    preset = checked.get("preset") or ("quick" if device.type == "cpu" else "paper")
    points = PAPER_POINTS.get(checked["problem"], {}) if preset == "paper" else {}
    usual = {**PRESETS[preset], **points}
    if checked.get("phases"):
        usual |= {"adam": None, "lbfgs": None}
    return Settings(**{**usual, **checked, "preset": preset, "device": str(device)})
