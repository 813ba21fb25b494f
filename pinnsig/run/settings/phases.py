"""The phases of a run as data: which optimiser, for how long, on which points, in which precision.

A phase is a table (`{optimizer = "adam", iterations = 600, lr = 1e-3}`) or a text
(`adam:600,lr=1e-3`); keys of the optimiser itself, such as `history`, stand beside the rest.
"""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from pinnsig.core.devices import DTYPES
from pinnsig.core.errors import SettingsError
from pinnsig.core.registry import unknown
from pinnsig.optim import OPTIMIZERS, SCHEDULES, TORCH_OPTIMIZERS
from pinnsig.run.settings.checks import check_fields, entry, integer, number, setting, table, word
from pinnsig.run.settings.optimizers import optimizer_name, torch_options

POINTS = ("fresh", "rad", "rar-d")


@dataclass(frozen=True)
class PhaseSettings:
    """One phase; None means no limit, or that a rule decides.

    Attributes:
        options: keywords of the optimiser's class.
    """

    optimizer: str = setting(optimizer_name, f"{', '.join(OPTIMIZERS)}, torch.NAME")
    iterations: int = setting(integer(0), "iterations at most")
    lr: float | None = setting(
        number(above=0.0), "learning rate  [the run's; muon's is 50 times that]"
    )
    schedule: str = setting(entry(SCHEDULES), "constant, cosine or exponential", "constant")
    final: float = setting(number(above=0.0), "the schedule's factor at its end", 0.01)
    warmup: int = setting(integer(0), "iterations over which the rate rises", 0)
    dtype: str | None = setting(word(*DTYPES), "float32 or float64  [as before]")
    points: str | None = setting(word(*POINTS), "new points: fresh, rad or rar-d  [as before]")
    every: int | None = setting(
        integer(1), "iterations between new points  [at the phase's start only]"
    )
    candidates: int | None = setting(
        integer(2), "points that rad and rar-d choose from  [10 x as many]"
    )
    rad_k: float | None = setting(number(minimum=0.0), "rad, rar-d: power of the residual  [1, 2]")
    rad_c: float | None = setting(number(minimum=0.0), "rad, rar-d: offset of the density  [1, 0]")
    added: int | None = setting(integer(1), "points that rar-d adds at a time  [a tenth]")
    batch: int | None = setting(
        integer(1),
        "at most so many points of each term an iteration, one batch after another; with "
        "points=fresh the collocation points of each are new, and others if so few  [all]",
    )
    evaluations: int | None = setting(integer(1), "evaluations at most")
    seconds: float | None = setting(number(above=0.0), "seconds at most")
    loss: float | None = setting(number(above=0.0), "stop once the loss is as low")
    error: float | None = setting(number(above=0.0), "stop once the relative L2 error is as low")
    options: dict[str, Any] = setting(table, "keywords of the optimiser's class", {})


def parse_phase(value: Any, name: str = "phase") -> PhaseSettings:
    """A phase from a table or a text.

    Raises:
        SettingsError: it is neither, or a key or value that does not exist or is out of range.
    """
    given = _from_text(value, name) if isinstance(value, str) else value
    if not isinstance(given, Mapping):
        raise SettingsError(f"{name} = {value!r} must be a text like adam:600,lr=1e-3, or a table")
    try:
        for key in ("optimizer", "iterations"):
            if given.get(key) is None:
                raise SettingsError(f"no {key}, as in adam:600")
        common = {f.name for f in fields(PhaseSettings)} - {"options"}
        chosen = check_fields(PhaseSettings, {k: v for k, v in given.items() if k in common}, "key")
        extra = {k: v for k, v in given.items() if k not in common}
        options = _options(chosen["optimizer"], extra, common)
        return PhaseSettings(**chosen, options=options)
    except SettingsError as error:
        raise SettingsError(f"{name} {_shown(value)!r}: {error}") from None


def phases(name: str, value: Any) -> list[dict[str, Any]]:
    """The check of the setting `phases`: a list of tables or texts, as tables."""
    del name
    if isinstance(value, str | Mapping) or not isinstance(value, list | tuple):
        raise SettingsError(f"phases = {value!r} must be a list, as in ['adam:600', 'lbfgs:1000']")
    return [phase_table(parse_phase(item)) for item in value]


def phase_table(phase: PhaseSettings) -> dict[str, Any]:
    """A phase as the plainest table that gives it: what differs from the defaults."""
    changed = {
        f.name: getattr(phase, f.name)
        for f in fields(phase)
        if f.name != "options" and getattr(phase, f.name) != f.default
    }
    return {**changed, **phase.options}


def _options(optimizer: str, given: Mapping[str, Any], common: set[str]) -> dict[str, Any]:
    """Return keywords of the optimiser's class, checked against its signature."""
    if optimizer in TORCH_OPTIMIZERS:
        return torch_options(optimizer, given)
    if optimizer not in OPTIMIZERS:  # a function, or a class from Python: it says what it takes
        return dict(given)
    known = inspect.signature(OPTIMIZERS[optimizer]).parameters
    found = {}
    for key, value in given.items():
        if key not in known or key in common:
            accepted = sorted((common | set(known)) - {"self"})
            raise SettingsError(unknown(f"{optimizer}: key", key, accepted))
        whole = known[key].annotation is int
        check = integer(0) if whole else number()
        found[key] = check(key, value)
    return found


def _from_text(text: str, name: str) -> dict[str, Any]:
    optimizer, colon, rest = text.partition(":")
    given: dict[str, Any] = {"optimizer": optimizer.strip()}
    for i, part in enumerate(rest.split(",") if colon else []):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals and i == 0:
            key, value = "iterations", key
        elif not (equals and key and value):
            raise SettingsError(f"{name} {text!r}: {part!r} is not KEY=VALUE, as in lr=1e-3")
        if key in given:
            raise SettingsError(f"{name} {text!r}: {key} is given twice")
        given[key] = _number(value)
    return given


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    return ",".join(f"{k}={v}" for k, v in value.items())
