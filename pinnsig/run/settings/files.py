"""Settings from configuration files."""

import json
import tomllib
from pathlib import Path
from typing import Any

from pinnsig.core.errors import SettingsError, first_line
from pinnsig.core.paths import nests_too_deep, user_path
from pinnsig.run.settings.run import check_settings

ADDED = ("environment", "source")  # what a run adds, about the machine and about its problem's code


def read_config(path: str | Path) -> dict[str, Any]:
    """Settings from a TOML file, or from the `config.json` of a run.

    Raises:
        SettingsError: no such file, a syntax error, or settings that `check_settings` refuses.
    """
    data = read_table(path)
    for name in ADDED:
        data.pop(name, None)
    return check_settings(data, str(path))


def read_table(path: str | Path) -> dict[str, Any]:
    """Names and values of a TOML or JSON file.

    Raises:
        SettingsError: no such file, a syntax error, or no table.
    """
    path = user_path(path, SettingsError)
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
        raise SettingsError(f"{path} is not valid {kind}: {first_line(error)}") from None
    except (ValueError, RecursionError):  # a number of thousands of digits, lists without end
        raise SettingsError(f"{path} is not valid {kind}: it goes beyond all measure") from None
    if nests_too_deep(data):
        raise SettingsError(f"{path} holds no settings: its lists and tables nest too deep")
    if not isinstance(data, dict):
        raise SettingsError(f"{path} must hold a table of settings")
    return data
