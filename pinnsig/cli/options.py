"""Command-line options made from the settings themselves, so that each is stated once."""

from collections.abc import Callable
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

import click

from pinnsig.core.errors import SettingsError
from pinnsig.core.paths import plain, user_path
from pinnsig.run.settings import GivenSettings


class _UserPath(click.ParamType):
    """A path that a file system can have."""

    name = "path"

    def __init__(self, other: str = "") -> None:
        self.other = other

    def convert(self, value: Any, param: Any, ctx: Any) -> Path:
        path = user_path(value, SettingsError)
        if path.exists() and self.other == ("directory" if path.is_dir() else "file"):
            self.fail(f"{plain(str(path))!r} is a {self.other}", param, ctx)
        return path


PATH, FILE, FOLDER = _UserPath(), _UserPath("directory"), _UserPath("file")
RUN = click.argument("run", type=PATH)
COUNTED = (int, float)


ARGUMENTS = ("problem", "dataset")
"""Settings that are given without a flag."""


def setting_options(
    *names: str, several: bool = False, of: type = GivenSettings
) -> Callable[[Any], Any]:
    """A decorator that adds one option for each named setting; without names, for all of them.

    Args:
        names: of the settings.
        several: whether an option takes text with several values, which is then left as it is.
        of: a dataclass made of `setting`s.
    """
    chosen = [f for f in fields(of) if f.name not in ARGUMENTS and (not names or f.name in names)]

    def decorate(command: Any) -> Any:
        for setting in reversed(chosen):
            command = _option(setting, several)(command)
        return command

    return decorate


def _option(setting: Field[Any], several: bool) -> Callable[[Any], Any]:
    flag = "--" + setting.name.replace("_", "-")
    about = setting.metadata["help"]
    metavar = setting.metadata["metavar"]
    if setting.type == list[dict[str, Any]]:
        return click.option("--phase", setting.name, multiple=True, metavar=metavar, help=about,
                            callback=_listed)  # fmt: skip
    if setting.type in (dict[str, Any], dict[str, float]):
        return click.option(flag, setting.name, multiple=True, metavar=metavar, help=about,
                            callback=_pairs)  # fmt: skip
    if setting.type in (bool, bool | None):
        both = f"{flag}/--no-{flag.removeprefix('--')}"  # a flag beats what a preset or a file says
        return click.option(both, setting.name, default=None, help=about)
    if setting.default is not None and "[" not in about:
        about += f"  [{setting.default}]"
    if several:
        return click.option(flag, setting.name, default=None, metavar=metavar, help=about)
    kind = next((k for k in COUNTED if setting.type in (k, k | None)), str)
    if setting.name == "p":
        kind = _NumberOr("auto")
    return click.option(flag, setting.name, type=kind, default=None, metavar=metavar, help=about)


class _NumberOr(click.ParamType):
    """A number, or one particular word."""

    name = "number"

    def __init__(self, other: str) -> None:
        self.other = other

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if value == self.other or isinstance(value, float):
            return value
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is neither a number nor {self.other!r}", param, ctx)


def _listed(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> Any:
    """What was given any number of times; None if never."""
    del ctx, param
    return list(values) or None


def _pairs(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> Any:
    """NAME=VALUE, any number of times, as a dict; numbers where they read as numbers."""
    del ctx
    found = {}
    for text in values:
        name, equals, value = text.partition("=")
        if not (equals and name.strip() and value.strip()):
            raise click.BadParameter(f"{text!r} is not NAME=VALUE", param=param)
        found[name.strip()] = _number(value.strip())
    return found or None


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
