"""What is searched: settings with a range or several choices.

`lr=1e-4:1e-2:log`, `depth=3:8`, `width=8:64:8` (in steps), `act=tanh,erf,gd`, `set.nu=0.01:0.1`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pinnsig.core.errors import SettingsError
from pinnsig.run.settings import check_settings
from pinnsig.sweeps.values import TYPES, values_of

LOG = "log"
KEPT_APART = ("problem", "preset", "device", "phases")
"""Settings that are given once for all trials."""


@dataclass(frozen=True)
class Axis:
    """One setting that is searched.

    Attributes:
        name: of the setting, or of an entry of `set` and `weight` (`set.nu`).
        choices: what it may be, if it has no range.
        low, high: its ends, both among the values.
        whole: whether it is a whole number.
        log: whether it is drawn on a log scale.
        step: between values; None where there is none.
    """

    name: str
    choices: tuple[Any, ...] = ()
    low: float = 0.0
    high: float = 0.0
    whole: bool = False
    log: bool = False
    step: float | None = None

    @property
    def text(self) -> str:
        """What it is, as it is written."""
        if self.choices:
            return ",".join(map(str, self.choices))
        last = ":log" if self.log else f":{self.step:g}" if self.step else ""
        return f"{self.low:g}:{self.high:g}{last}"

    def as_dict(self) -> dict[str, Any]:
        """In JSON."""
        return {**asdict(self), "choices": list(self.choices)}

    def distribution(self) -> Any:
        """The same for Optuna."""
        from optuna import distributions as optuna

        if self.choices:
            return optuna.CategoricalDistribution(self.choices)
        if self.whole:
            return optuna.IntDistribution(
                int(self.low), int(self.high), log=self.log, step=int(self.step or 1)
            )
        return optuna.FloatDistribution(self.low, self.high, log=self.log, step=self.step)


def read_space(search: Mapping[str, Any], coefficients: Sequence[str] = ()) -> list[Axis]:
    """The axes of a search.

    Args:
        search: by setting a text (see above), a list of choices, or a tuple (low, high) or
            (low, high, "log" or a step) of numbers.
        coefficients: of the problem, to tell of those that are named without `set.`.

    Raises:
        SettingsError: nothing to search, an unknown setting, a value that it cannot have, or ends
            that make no range.
    """
    if not search:
        raise SettingsError(
            "nothing to search: give at least one setting, such as lr=1e-4:1e-2:log"
        )
    for name in search:
        if name in coefficients and name not in TYPES:
            raise SettingsError(f"search: {name} is a coefficient: did you mean set.{name}?")
    return [_read(name, given) for name, given in search.items()]


def _read(name: str, given: Any) -> Axis:
    if name in KEPT_APART:
        raise SettingsError(f"search: {name} is the same for all trials: give it as a setting")
    _check(name, None)
    parts = given.split(":") if isinstance(given, str) else given
    if isinstance(given, str) and (len(parts) == 1 or not _is_number(parts[0])):
        return _of_choices(name, values_of(name, given))
    if isinstance(parts, str) or not isinstance(parts, Sequence):
        raise SettingsError(f"search: {name} = {given!r} is neither a range nor several choices")
    if isinstance(given, list):
        return _of_choices(name, [one for item in given for one in values_of(name, item)])
    return _of_range(name, list(parts))


def _of_choices(name: str, values: list[Any]) -> Axis:
    choices = tuple(dict.fromkeys(_check(name, value) for value in values))
    if len(choices) < 2:
        raise SettingsError(f"search: {name} = {values[0]!r} is one value: give it as a setting")
    return Axis(name, choices)


def _of_range(name: str, parts: list[Any]) -> Axis:
    what = f"search: {name} = {':'.join(map(str, parts))}"
    if len(parts) not in (2, 3):
        raise SettingsError(f"{what} must be low:high, low:high:log or low:high:step")
    kind = TYPES.get(name)
    whole = kind in (int, int | None)
    if not (whole or "." in name or kind in (float, float | None) or name == "p"):
        raise SettingsError(f"{what}: {name} is no number, give choices: {name}=this,that")
    low, high = (_end(what, part, whole) for part in parts[:2])
    if not low < high:
        raise SettingsError(f"{what}: its low end must be below its high end")
    log = len(parts) == 3 and str(parts[2]) == LOG
    step = None if len(parts) == 2 or log else _end(what, parts[2], whole)
    if log and low <= 0:
        raise SettingsError(f"{what}: both ends of a log range must be above 0")
    if step is not None and not 0 < step <= high - low:
        raise SettingsError(f"{what}: its step must be above 0 and fit between its ends")
    for end in (low, high):
        _check(name, int(end) if whole else end)
    return Axis(name, (), low, high, whole, log, step)


def _end(what: str, part: Any, whole: bool) -> float:
    if not _is_number(part):
        raise SettingsError(f"{what}: {part!r} is no number")
    value = float(part)
    if not math.isfinite(value):
        raise SettingsError(f"{what}: {part!r} is not finite")
    if whole and not value.is_integer():
        raise SettingsError(f"{what}: {value:g} is no whole number")
    return value


def _is_number(part: Any) -> bool:
    if isinstance(part, bool):
        return False
    try:
        float(part)
    except (TypeError, ValueError):
        return False
    return True


def _check(name: str, value: Any) -> Any:
    """A value as the setting keeps it; None tries the name alone."""
    outer, dot, key = name.partition(".")
    if dot and outer not in ("set", "weight"):
        raise SettingsError(f"search: {name!r} is unknown: only set and weight have entries")
    if value is None:
        check_settings({outer: None})
        return None
    found = check_settings({outer: {key: value}} if dot else {name: value})[outer]
    return found[key] if dot else found
