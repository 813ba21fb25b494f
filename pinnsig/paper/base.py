"""What a figure of the paper is: settings, data, a drawing, and a claim with a verdict."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from matplotlib.figure import Figure

HOLDS, IN_PART, FAILS = "holds", "in part", "does not hold"

PRESETS = ("quick", "paper")

ROOT = Path("runs/paper")
"""Where figures go unless it is said."""

Data = dict[str, Any]
"""Arrays, numbers and texts by name, as a NPZ file holds them."""


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds on the computed data.

    Attributes:
        outcome: "holds", "in part" or "does not hold".
        words: one sentence that says why, with the decisive figures.
        findings: the figures behind it by name.
    """

    outcome: str
    words: str
    findings: Mapping[str, float | int | list[float]]


def verdict(conditions: Mapping[str, bool], words: str, findings: Mapping[str, Any]) -> Verdict:
    """The outcome by the conditions that a claim consists of: all, some or none are met.

    The names of those that are not met are put behind the words.
    """
    missed = [name for name, met in conditions.items() if not met]
    outcome = HOLDS if not missed else FAILS if len(missed) == len(conditions) else IN_PART
    tail = f"; not met: {', '.join(missed)}" if missed and outcome == IN_PART else ""
    return Verdict(outcome, words + tail, findings)


class PaperFigure(ABC):
    """One figure of the paper.

    To add one, write a subclass and register an instance (`pinnsig.paper.registry`). Figures that
    train networks have the same interface.

    Attributes:
        name: on the command line.
        source: where the paper has it.
        claim: what the paper says by it, in our own words.
        presets: settings of `compute` for "quick" and "paper".
        trains: whether it trains networks, for minutes or hours: then `all` leaves it out.
        running: what `compute` takes beside settings, which says where and how it is run but does
            not change what is found: of `data`, `workers`, `tell`, and of `out`, which `reproduce`
            gives itself.
    """

    trains: ClassVar[bool] = False
    running: ClassVar[tuple[str, ...]] = ()
    name: str
    source: str
    claim: str
    presets: ClassVar[Mapping[str, Mapping[str, Any]]]

    compute: Callable[..., Data]
    """compute(seed, **settings): the data of the figure, for the settings of a preset."""

    @abstractmethod
    def draw(self, data: Data) -> Figure:
        """Draw the data."""

    @abstractmethod
    def judge(self, data: Data) -> Verdict:
        """Hold the claim against the data."""

    def table(self, data: Data) -> str | None:  # noqa: ARG002
        """The data as a table in Markdown, where the paper has a table."""
        return None
