"""Which value of a setting is better: spread over seeds, and a paired sign test."""

import itertools
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from scipy.stats import binomtest

from pinnsig.core.errors import SettingsError
from pinnsig.core.registry import unknown
from pinnsig.sweeps.directory import FACTS
from pinnsig.sweeps.table import Spread, SweepTable

LEVEL = 0.05
METRICS = tuple(name for name in FACTS if name != "stop")


@dataclass(frozen=True)
class Group:
    """The runs of one value of the compared setting, alike in all else but the seed."""

    settings: dict[str, Any]
    value: Any
    spread: Spread
    seeds: int

    def as_dict(self) -> dict[str, Any]:
        """By name."""
        return {**self.settings, "value": self.value, **self.spread.as_dict(), "seeds": self.seeds}


@dataclass(frozen=True)
class SignTest:
    """How often one value of a setting was below another in runs alike in everything else.

    Attributes:
        group: the settings within which runs were paired.
        wins, losses: pairs in which `first` was lower, and higher.
        ties: pairs that were equal; they say nothing.
        unpaired: runs of either whose counterpart has no result.
        p_value: two-sided, of a fair coin.
        adjusted: the same after Holm's correction for all tests made together.
        winner: the lower value, where `adjusted` is below 0.05.
    """

    group: dict[str, Any]
    first: Any
    second: Any
    wins: int
    losses: int
    ties: int
    unpaired: int
    p_value: float
    adjusted: float = 1.0
    winner: Any = None

    def as_dict(self) -> dict[str, Any]:
        """By name."""
        return asdict(self)


def group_spreads(table: SweepTable, by: str, metric: str = "best_loss") -> list[Group]:
    """Median and range of each value of a setting, in each combination of the others but the seed.

    Raises:
        SettingsError: no such setting or column.
    """
    _check(table, [by], metric)
    names = [name for name in table.varied if name not in (by, "seed")]
    found = []
    for key, rows in table.groups(names).items():
        for (value,), same in rows.groups([by]).items():
            seeds = {row["seed"] for row in same if row[metric] is not None}
            group = dict(zip(names, key, strict=True))
            found.append(Group(group, value, same.spread(metric), len(seeds)))
    return found


def sign_tests(
    table: SweepTable, by: str, metric: str = "best_loss", per: Sequence[str] = ()
) -> list[SignTest]:
    """Test each pair of values of a setting on all runs that are otherwise alike, seeds included.

    Args:
        table: of a sweep.
        by: the setting that is compared.
        metric: a column of numbers of which low is good.
        per: settings within each of whose values the test is made apart.

    Raises:
        SettingsError: no such setting or column.
    """
    _check(table, [by], metric)
    for name in per:
        if name not in table.settings or name == by:
            known = ", ".join(n for n in table.settings if n != by)
            raise SettingsError(f"{name!r} is no setting to test apart by: choose {known}")
    names = [name for name in table.settings if name != by]
    tests = []
    for key, rows in table.groups(list(per)).items():
        group = dict(zip(per, key, strict=True))
        values = {
            value: {tuple(row[n] for n in names): row[metric] for row in same
                    if row[metric] is not None}
            for (value,), same in rows.groups([by]).items()
        }  # fmt: skip
        for first, second in itertools.combinations(values, 2):
            tests.append(_test(group, first, second, values[first], values[second]))
    corrected = holm([test.p_value for test in tests])
    return [_judged(test, p) for test, p in zip(tests, corrected, strict=True)]


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values corrected for being several (Holm 1979), in the same order."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    found, largest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min((len(p_values) - rank) * p_values[i], 1.0))
        found[i] = largest
    return found


def _test(
    group: dict[str, Any], first: Any, second: Any, one: dict[Any, float], other: dict[Any, float]
) -> SignTest:
    pairs = [(one[key], other[key]) for key in one if key in other]
    wins = sum(a < b for a, b in pairs)
    losses = sum(a > b for a, b in pairs)
    p = float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
    ties, unpaired = len(pairs) - wins - losses, len(one.keys() ^ other.keys())
    return SignTest(group, first, second, wins, losses, ties, unpaired, p)


def _judged(test: SignTest, adjusted: float) -> SignTest:
    better = test.first if test.wins > test.losses else test.second
    return replace(test, adjusted=adjusted, winner=better if adjusted < LEVEL else None)


def _check(table: SweepTable, names: Sequence[str], metric: str) -> None:
    for name in names:
        if name not in table.varied or name == "seed":
            known = [n for n in table.varied if n != "seed"]
            raise SettingsError(
                f"{name!r} has no several values in this sweep: choose {', '.join(known) or 'none'}"
            )
    if metric not in METRICS:
        raise SettingsError(unknown("metric", metric, METRICS))
