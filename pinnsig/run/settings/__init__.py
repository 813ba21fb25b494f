"""Settings of a run: what there is, presets, configuration files."""

from pinnsig.run.settings.command_line import command_line, flags
from pinnsig.run.settings.files import ADDED, read_config, read_table
from pinnsig.run.settings.phases import PhaseSettings, parse_phase, phase_table
from pinnsig.run.settings.presets import (
    PAPER_POINTS,
    PRESETS,
    PURPOSES,
    resolve,
    suited_counts,
)
from pinnsig.run.settings.run import (
    COUNTS,
    POLISHING,
    GivenSettings,
    Settings,
    check_settings,
    hidden_weights,
)

__all__ = [
    "ADDED",
    "COUNTS",
    "PAPER_POINTS",
    "POLISHING",
    "PRESETS",
    "PURPOSES",
    "GivenSettings",
    "PhaseSettings",
    "Settings",
    "check_settings",
    "command_line",
    "flags",
    "hidden_weights",
    "parse_phase",
    "phase_table",
    "read_config",
    "read_table",
    "resolve",
    "suited_counts",
]
