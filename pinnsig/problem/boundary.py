"""Conditions on parts of the boundary, and `On`: any residual there."""

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import ArrayLike
from torch import Tensor

from pinnsig.core.errors import ProblemError
from pinnsig.geometry import Domain, Draw, Face, Part, Where, called
from pinnsig.problem.binding import call_by_name
from pinnsig.problem.condition import Condition, Sites, results_by_name
from pinnsig.problem.given_points import GivenPoints
from pinnsig.problem.tables import Table


class BoundaryCondition(Condition):
    """Holds on the boundary parts that `on` names, or where a predicate holds.

    Of a box "x" means both sides, "x-" and "x+" single ones; shapes have names for their parts,
    and "boundary" is all of it. A predicate is a function of coordinates, `lambda x, y: x > 0`.
    Points of one's own (`points=`) take the place of those that are drawn.
    """

    group = "boundary"

    def __init__(
        self, on: Where | None, name: str | None, points: GivenPoints | None = None
    ) -> None:
        super().__init__(name)
        self.on, self.points = on, points

    @property
    def given(self) -> bool:
        """See `Condition.given`."""
        return self.points is not None

    def parts(self, domain: Domain) -> tuple[Part, ...]:
        """The boundary parts that `on` names."""
        if self.on is None and self.points is not None:
            return ()
        return domain.parts(() if self.on is None else self.on)

    def normals(self, domain: Domain) -> tuple[str, ...]:
        """Coordinates along which its residual gets the normal."""
        return domain.normal_names(self.parts(domain))

    def needed_normals(self, domain: Domain) -> tuple[str, ...]:
        """Of those, what given points cannot do without."""
        del domain
        return ()

    def sites(self, domain: Domain, count: int, draw: Draw) -> Sites:
        """Points shared between the parts, with the outward normal at each, or the given ones.

        A part without extent (in one dimension) is one point.
        """
        parts = self.parts(domain)
        if self.points is not None:
            return self.points.sites(domain, parts, self.needed_normals(domain))
        points, normals = domain.sample_parts(parts, count, draw)
        wanted = self.normals(domain)
        return Sites(
            points, {f"normal_{n}": normals[:, domain.names.index(n)].copy() for n in wanted}
        )


class On(BoundaryCondition):
    """Any residual on parts of the boundary: `On("x+", lambda u: u.x + u**4)`.

    The function's parameters are found by their names, as those of `Problem.residual`: fields and
    coordinates, the outward normal's components (normal_x, normal_y), coefficients and choices.
    It gives a residual of shape (N,), or several in a dict or tuple, which make one term.

    Args:
        on: the parts; None with `points`. Where it is the start of time alone, points count as
            initial ones.
        residual: zero for a solution.
        points, normals, weights: of one's own; see `GivenPoints`.
        name: of its term.
    """

    differentiable = True

    def __init__(
        self,
        on: Where | None = None,
        residual: Callable[..., Any] | None = None,
        *,
        points: Table | None = None,
        normals: ArrayLike | Mapping[str, ArrayLike] | None = None,
        weights: ArrayLike | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(on, name, given_points(points, normals, weights, f"On {in_words(on)}"))
        if not callable(residual):
            raise ProblemError(
                f"On {in_words(on)}: a residual is a function, such as lambda u: u.x + u**4, "
                f"not {residual!r:.60}"
            )
        self.function = residual

    def bound(self, domain: Domain, settings: Mapping[str, Any]) -> "On":
        """See `Condition.bound`; the group is known from here on."""
        other = super().bound(domain, settings)
        parts = self.parts(domain)
        if parts and parts == (Face(str(domain.time), upper=False),):
            other.group = "initial"
        return other

    def normals(self, domain: Domain) -> tuple[str, ...]:
        """All coordinates, for the function may name any."""
        return domain.names

    def residual(
        self,
        fields: Mapping[str, Any],
        coordinates: Mapping[str, Any],
        extra: Mapping[str, Tensor],
    ) -> dict[str, Any]:
        """What the function gives."""
        what = f"On {in_words(self.on)}"
        available = {**fields, **coordinates, **extra}
        result = call_by_name(self.function, available, what, self.settings)
        return results_by_name(result, "residual", what)


def given_points(
    points: Table | None,
    normals: ArrayLike | Mapping[str, ArrayLike] | None,
    weights: ArrayLike | None,
    what: str,
) -> GivenPoints | None:
    """Return the points of a condition, if they are given.

    Raises:
        ProblemError: there are none for what stands beside them.
    """
    if points is not None:
        return GivenPoints(points, normals, weights, what)
    if normals is not None or weights is not None:
        raise ProblemError(f"{what}: normals= and weights= belong to points of one's own, points=")
    return None


def in_words(on: Where | None) -> str:
    """A place as errors call it: a predicate by its name."""
    if isinstance(on, str) or on is None:
        return str(on)
    if callable(on):
        return called(on)
    return str(tuple(o if isinstance(o, str) else in_words(o) for o in on))
