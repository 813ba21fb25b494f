"""Domains whose boundary has another name."""

from functools import cached_property

from pinnsig.core.types import ColumnArray, MaskArray, PointArray, UnitArray
from pinnsig.geometry.checks import checked_part
from pinnsig.geometry.domain import Domain, Placed, PlacedOn
from pinnsig.geometry.formulas import Formula, Piece
from pinnsig.geometry.parts import NamedPart, Part
from pinnsig.geometry.scattering import pick_part


class Renamed(Domain):
    """A domain whose boundary, but for the ends of time, has one name for all of it.

    `Box(x=(1, 2), y=(1, 2)).called("hole")` gives one.

    Args:
        domain: any.
        name: of the boundary.

    Raises:
        ProblemError: a name that cannot be.
    """

    def __init__(self, domain: Domain, name: str) -> None:
        self.domain, self.part = domain, NamedPart(checked_part(name, "called"))
        self.names, self.lower, self.upper = domain.names, domain.lower, domain.upper

    def __repr__(self) -> str:
        return f"{self.domain}.called({self.part.name!r})"

    @cached_property
    def _others(self) -> tuple[Part, ...]:
        return tuple(part for part in self.domain.all_parts if part not in self.domain.sides)

    @property
    def all_parts(self) -> tuple[Part, ...]:
        """The one of that name, and the ends of time."""
        return (self.part, *self._others)

    def distance(self, points: PointArray) -> ColumnArray:
        """See `Domain.distance`."""
        return self.domain.distance(points)

    def contains(self, points: PointArray) -> MaskArray:
        """See `Domain.contains`."""
        return self.domain.contains(points)

    def inside(self, points: PointArray) -> MaskArray:
        """See `Domain.inside`."""
        return self.domain.inside(points)

    def scatter(self, unit: UnitArray) -> Placed:
        """See `Domain.scatter`."""
        return self.domain.scatter(unit)

    def scatter_on(self, part: Part, unit: UnitArray) -> PlacedOn:
        """Place points on all the parts that have the name now."""
        own = self._own(part)
        covers = [self.domain.part_cover(side) for side in own]
        return pick_part([(self.domain, side) for side in own], covers, unit)[:3]

    def signed_formula(self) -> Formula:
        """See `Domain.signed_formula`."""
        return self.domain.signed_formula()

    def pieces(self, part: Part) -> list[Piece]:
        """See `Domain.pieces`."""
        return [piece for own in self._own(part) for piece in self.domain.pieces(own)]

    def inner_formulas(self, part: Part) -> list[Formula]:
        """See `Domain.inner_formulas`."""
        return [formula for own in self._own(part) for formula in self.domain.inner_formulas(own)]

    @property
    def measure(self) -> float:
        """See `Domain.measure`."""
        return self.domain.measure

    @property
    def cover(self) -> float:
        """See `Domain.cover`."""
        return self.domain.cover

    def named_measure(self, part: Part) -> float:
        """See `Domain.named_measure`."""
        return sum(self.domain.named_measure(own) for own in self._own(part))

    def part_cover(self, part: Part) -> float:
        """See `Domain.part_cover`."""
        return sum(self.domain.part_cover(own) for own in self._own(part))

    def _own(self, part: Part) -> tuple[Part, ...]:
        """What a part is called in the domain."""
        return self.domain.sides if part == self.part else (part,)
