"""A sweep from a TOML file: settings with several values, and a table `[sweep]`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pinnsig.core.errors import SettingsError
from pinnsig.core.registry import unknown
from pinnsig.run.settings import ADDED, read_table
from pinnsig.run.settings.checks import integer, word, yes_or_no
from pinnsig.sweeps.batch_size import batch_setting


def _zip(name: str, value: Any) -> bool | list[str]:
    if isinstance(value, bool):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return value
    raise SettingsError(f"{name} = {value!r} must be true, or a list of names of settings")


KEYS: dict[str, Callable[[str, Any], Any]] = {
    "zip": _zip,
    "out": word(),
    "runs": word(),
    "workers": integer(1),
    "batch": batch_setting,
    "retry": integer(0),
    "figures": yes_or_no,
    "keep_checkpoints": yes_or_no,
}


def read_sweep(path: str | Path) -> dict[str, Any]:
    """The arguments of `pinnsig.sweep` from a file: `sweep(**read_sweep("grid.toml"))`.

    Raises:
        SettingsError: no such file, a syntax error, or a key of `[sweep]` that cannot be.
    """
    data = read_table(path)
    own = data.pop("sweep", {})
    if not isinstance(own, dict):
        raise SettingsError(f"{path}: sweep = {own!r} must be a table, [sweep]")
    for name, value in own.items():
        if name not in KEYS:
            raise SettingsError(f"{path}: {unknown('key of [sweep]', name, KEYS)}")
        try:
            own[name] = KEYS[name](name, value)
        except SettingsError as error:
            raise SettingsError(f"{path}: [sweep] {error}") from None
    for name in ADDED:  # of the config.json of a run
        data.pop(name, None)
    return {**data, **own}
