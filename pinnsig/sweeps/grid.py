"""The grid of a sweep: settings with several values, and the members that they make."""

import hashlib
import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from pinnsig.activations import parse_activation
from pinnsig.core.errors import SettingsError
from pinnsig.core.json import dumps
from pinnsig.networks import usual_settings
from pinnsig.problem import absolute, problem_file
from pinnsig.run.building import build_initializer
from pinnsig.run.settings import GivenSettings, check_settings
from pinnsig.run.settings.checks import table
from pinnsig.sweeps.values import values_of

DEFAULTS = GivenSettings().as_dict()
TABLES = ("set", "weight")  # settings that hold settings
MOST_MEMBERS = 100_000
ALWAYS = ("problem", "act", "scale", "init", "seed")  # settings that every name shows
FIRST = (*ALWAYS, "set", "depth", "width", "p", "sigma_b", "normalize", "hard", "preset", "sampler")
"""Settings in the order that names have them; all others follow."""
PART, SLUG = 40, 150  # characters of one setting in a name, and of a name before its digest


@dataclass(frozen=True)
class Member:
    """One run of a sweep.

    Attributes:
        settings: what was given, by name; the rest is decided as in `solve`.
        name: of its directory, a function of the settings alone.
    """

    settings: dict[str, Any]

    @cached_property
    def name(self) -> str:
        """Settings that are not at their defaults, as far as there is room, and their digest."""
        changed = {k: v for k, v in sorted(self.settings.items()) if v != DEFAULTS[k]}
        digest = hashlib.blake2b(dumps(changed).encode(), digest_size=4).hexdigest()
        order = [name for name in dict.fromkeys([*FIRST, *DEFAULTS]) if name in (*ALWAYS, *changed)]
        slug = ""
        for part in (part for name in order for part in _parts(name, self[name])):
            shown = re.sub(r"[^A-Za-z0-9.=_-]+", "_", part)[:PART]
            if len(slug) + len(shown) < SLUG:
                slug += f"{shown}-"
        return slug + digest

    def __getitem__(self, name: str) -> Any:
        """A setting, or an entry of one (`set.nu`); its default where it is not given."""
        outer, dot, key = name.partition(".")
        if dot:
            return self.settings.get(outer, {}).get(key)
        usual = usual_settings(self.settings.get("network", DEFAULTS["network"]))
        return self.settings.get(name, usual.get(name, DEFAULTS[name]))


@dataclass(frozen=True)
class Grid:
    """Settings with one value or several.

    Attributes:
        values: by name, in the order of `GivenSettings`; an entry of a table is named `set.nu`.
        zipped: names whose values are paired; those of all others are combined with all.
        code: by problem, the digests of its files of code by name; "" stands for a class itself.
    """

    values: dict[str, list[Any]]
    zipped: tuple[str, ...] = ()
    code: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def axes(self) -> list[str]:
        """The names with several values."""
        return [name for name, values in self.values.items() if len(values) > 1]

    def members(self) -> list[Member]:
        """Every member once; the last setting changes fastest."""
        pairs = [
            [((name, value),) for value in values]
            for name, values in self.values.items()
            if name not in self.zipped
        ]
        if self.zipped:
            columns = [[(name, value) for value in self.values[name]] for name in self.zipped]
            pairs.insert(0, list(zip(*columns, strict=True)))
        found = {}
        for combination in itertools.product(*pairs):
            member = Member(nested(itertools.chain(*combination)))
            found.setdefault(member.name, member)
        return list(found.values())

    def as_dict(self) -> dict[str, Any]:
        """What `make_grid` makes the same grid of, in JSON."""
        return {"values": self.values, "zip": list(self.zipped), "code": self.code}

    def check_values(self) -> None:
        """Refuse values that no setting can have, as a file may hold.

        Raises:
            SettingsError: an unknown name, or a value that cannot be.
        """
        for name, values in self.values.items():
            outer, dot, key = name.partition(".")
            for value in values:
                check_settings({outer: {key: value}} if dot else {name: value})

    def check(self) -> None:
        """Refuse what cannot be trained, as far as that shows without making networks.

        Raises:
            PinnsigError: an activation or initialiser that does not exist.
        """
        for text in self.values.get("act", ()):
            parse_activation(text)
        for text in self.values.get("init", ()):
            build_initializer(GivenSettings(init=text))


def _parts(name: str, value: Any) -> list[str]:
    """What a member's name says of a setting."""
    if name == "problem":
        file = problem_file(value)
        return [value if file is None else f"{file.path.stem}{file.chosen and f'.{file.chosen}'}"]
    if name in ("act", "init", "scale"):
        return [f"{value:g}" if isinstance(value, float) else str(value)]
    if name == "seed":
        return [f"seed{value}"]
    if isinstance(value, dict):
        return [f"{key}={_text(entry)}" for key, entry in sorted(value.items())]
    return [f"{name}={_text(value)}"]


def _text(value: Any) -> str:
    """A value in a few letters: phases as adam.600.lr=0.001_lbfgs.1000."""
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        return ".".join(v if k == "optimizer" else f"{k}={_text(v)}" for k, v in value.items())
    return "_".join(map(_text, value)) if isinstance(value, list) else str(value)


def make_grid(given: Mapping[str, Any], zip: bool | Sequence[str] = False) -> Grid:
    """A grid from settings by name.

    Args:
        given: for each setting a value, a text with several (see `pinnsig.sweeps.values`), or a
            list or array; tables hold such by name, and `phases` a list of lists of phases.
        zip: the settings whose values are paired in place of combined; True: all with several.

    Raises:
        SettingsError: an unknown name, a value that cannot be, lengths that cannot be paired, or
            too many runs.
    """
    check_settings({name: None for name in given})  # names that do not exist
    values: dict[str, list[Any]] = {}
    for setting in fields(GivenSettings):
        name, value = setting.name, given.get(setting.name)
        if value is None:
            continue
        if name in TABLES:
            for key, entry in table(name, value).items():
                values[f"{name}.{key}"] = [
                    check_settings({name: {key: one}})[name][key]
                    for one in values_of(f"{name}.{key}", entry)
                ]
        else:
            values[name] = [check_settings({name: one})[name] for one in values_of(name, value)]
    if "problem" not in values:
        raise SettingsError("no problem is named, such as burgers")
    values["problem"] = [absolute(name) for name in values["problem"]]
    zipped = _zipped(values, zip)
    count = math.prod(len(found) for name, found in values.items() if name not in zipped)
    count *= len(values[zipped[0]]) if zipped else 1
    if count > MOST_MEMBERS:
        raise SettingsError(
            f"the grid has {count:,} runs, and a sweep at most {MOST_MEMBERS:,}: take fewer values"
        )
    return Grid(values, zipped)


def _zipped(values: Mapping[str, list[Any]], zip: bool | Sequence[str]) -> tuple[str, ...]:
    several = {name: len(found) for name, found in values.items() if len(found) > 1}
    names = tuple(several) if zip is True else tuple(zip or ())
    for name in names:
        if name not in several:
            raise SettingsError(
                f"zip: {name!r} has no several values to pair; those that have: "
                f"{', '.join(several) or 'none'}"
            )
    if len({several[name] for name in names}) > 1:
        lengths = ", ".join(f"{name} has {several[name]}" for name in names)
        raise SettingsError(f"zip pairs values, so there must be as many of each: {lengths}")
    return names


def nested(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return settings by name from names and values, `set.nu` into its table."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        outer, dot, key = name.partition(".")
        if dot:
            found.setdefault(outer, {})[key] = value
        else:
            found[name] = value
    return found


def flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with the entries of tables under names of their own, as `set.nu`."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        entries = value if name in TABLES else {"": value}
        found |= {f"{name}.{key}" if key else name: one for key, one in entries.items()}
    return found
