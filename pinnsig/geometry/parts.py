"""Parts of a boundary: by name, by an end of a coordinate, or by a predicate."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnsig.core.errors import ProblemError
from pinnsig.core.types import MaskArray, PointArray, UnitArray

Draw = Callable[[int, int], UnitArray]
"""`draw(n, dimensions)`: at most n points of the unit cube, shape (n, dimensions)."""

Predicate = Callable[..., Any]
"""Of coordinates by name, arrays of shape (N,); true where a boundary part is."""

Where = str | Predicate | Sequence[str | Predicate]
"""Which parts of a boundary: names, or predicates of coordinates."""


class Part:
    """A part of a boundary; hashable, equal to another one that means the same."""

    def answers(self, text: str) -> bool:
        """Whether it is meant by a text."""
        del text
        return False


@dataclass(frozen=True)
class NamedPart(Part):
    """A part that a domain knows by a name; "" for what has none but "boundary"."""

    name: str

    def answers(self, text: str) -> bool:
        """See `Part.answers`: its name."""
        return bool(text) and text == self.name

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Face(Part):
    """One end of a coordinate: it is held at its lowest or highest value."""

    coordinate: str
    upper: bool

    @property
    def normal(self) -> float:
        """Sign of the outward normal along the coordinate."""
        return 1.0 if self.upper else -1.0

    def answers(self, text: str) -> bool:
        """See `Part.answers`: "x" both ends, "x-" the lower one, "x+" the upper one."""
        return text in (self.coordinate, self.coordinate + "-+"[self.upper])

    def __str__(self) -> str:
        return self.coordinate + "-+"[self.upper]


@dataclass(frozen=True)
class Flat(Part):
    """What was a face of a box, within a combination, and is at no end of its coordinate there."""

    face: Face

    def answers(self, text: str) -> bool:
        """See `Part.answers`: as the face."""
        return self.face.answers(text)

    def __str__(self) -> str:
        return str(self.face)


@dataclass(frozen=True)
class Filtered(Part):
    """Where a predicate holds on the boundary, but for the ends of time."""

    predicate: Predicate


def holds(predicate: Predicate, names: Sequence[str], points: PointArray) -> MaskArray:
    """Return where a predicate holds, called with the coordinates that it names.

    Raises:
        ProblemError: it names something else, or gives no truth value for each point.
    """
    wanted = list(inspect.signature(predicate).parameters)
    unknown = [name for name in wanted if name not in names]
    if unknown:
        raise ProblemError(
            f"on={called(predicate)}: its parameter {unknown[0]!r} is none of the coordinates "
            f"{', '.join(names)}"
        )
    found = np.asarray(predicate(*(points[:, names.index(name)].copy() for name in wanted)))
    if found.dtype != np.bool_ or found.shape not in ((), (len(points),)):
        raise ProblemError(
            f"on={called(predicate)} must give a truth value for each point, shape "
            f"({len(points)},), not {found.dtype} of shape {found.shape}"
        )
    return np.broadcast_to(found, (len(points),))


def called(predicate: Predicate) -> str:
    """A predicate as errors call it."""
    return getattr(predicate, "__name__", None) or repr(predicate)
