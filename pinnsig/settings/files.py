"""Settings from configuration files."""

import json
import tomllib
from pathlib import Path
from typing import Any

from pinnsig.errors import SettingsError
from pinnsig.settings.run import check_settings


def read_config(path: str | Path) -> dict[str, Any]:
    """Settings from a TOML file, or from the `config.json` of a run.

    Raises:
        SettingsError: no such file, a syntax error, or settings that `check_settings` refuses.
    """
    data = read_table(path)
    data.pop("environment", None)  # what a run adds about the machine
    return check_settings(data, str(path))


def read_table(path: str | Path) -> dict[str, Any]:
    """Names and values of a TOML or JSON file.

    Raises:
        SettingsError: no such file, a syntax error, or no table.
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
    return data
