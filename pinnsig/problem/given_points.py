"""Points that a user gives in the place of those that are drawn."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from pinnsig.core.errors import ProblemError
from pinnsig.core.types import ColumnArray, PointArray
from pinnsig.geometry import ROUNDING, Box, Domain, Face, Part
from pinnsig.problem.condition import WEIGHTS, Sites
from pinnsig.problem.tables import Table, check_lengths, name_rows, numbers, read_columns

UNIT = 1e-3  # what the length of a normal may differ from 1 by


class GivenPoints:
    """Points of a condition, in a file, a dict or an array, with what stands beside them.

    Args:
        points: a table with a column for each coordinate; columns `normal_x`, ... and `weights` are
            read as well, others are not. An array has shape (N, dimensions).
        normals: outward unit normals, shape (N, dimensions), or by coordinate in a dict, which may
            leave out those that are 0.
        weights: factors on the squared residuals, shape (N,), or one for all.
        what: what it belongs to, in an error.
    """

    def __init__(
        self,
        points: Table,
        normals: ArrayLike | Mapping[str, ArrayLike] | None,
        weights: ArrayLike | None,
        what: str,
    ) -> None:
        self.table, self.normals, self.weights, self.what = points, normals, weights, what

    def sites(
        self, domain: Domain, parts: Sequence[Part] = (), needed: Sequence[str] = ()
    ) -> Sites:
        """Return the points, with normals where they are given or follow from faces.

        Args:
            domain: that they lie in.
            parts: of its boundary that they have to lie on, if any.
            needed: coordinates along which normals have to be known.

        Raises:
            ProblemError: points that are none of the domain, or columns that do not fit them.
        """
        columns = read_columns(self.table, domain.names, self.what)
        lacking = [name for name in domain.names if name not in columns]
        if lacking:
            raise ProblemError(f"{self.what}: points lack the coordinate {lacking[0]}")
        points = self._stacked({name: columns[name] for name in domain.names})
        _refuse_gaps(points, f"{self.what}: points")
        outside = domain.describe_outside(points, units=True)
        if outside:
            raise ProblemError(f"{self.what}: {outside}")
        found = self._given_normals(domain, columns)
        on_faces = _face_normals(domain, parts, points, self.what)
        normals = on_faces if found is None else self._checked(domain, found, len(points))
        if normals is None and needed:
            raise ProblemError(
                f"{self.what}: points of one's own need their outward normals: normals=, or a face "
                "of a box in on="
            )
        extra = {}
        if normals is not None:
            names = needed or domain.names
            extra = {f"normal_{n}": normals[:, domain.names.index(n)].copy() for n in names}
        weights = columns.get("weights") if self.weights is None else self.weights
        if weights is not None:
            extra[WEIGHTS] = self._checked_weights(weights, len(points))
        return Sites(points, extra)

    def _stacked(self, columns: Mapping[str, ArrayLike]) -> PointArray:
        own = {key: numbers(key, column, self.what) for key, column in columns.items()}
        check_lengths(own, self.what)
        return np.stack(list(own.values()), axis=1)

    def _given_normals(
        self, domain: Domain, columns: Mapping[str, ArrayLike]
    ) -> dict[str, ArrayLike] | None:
        """Components by coordinate, as they are given."""
        if self.normals is None:
            found = {name: columns.get(f"normal_{name}") for name in domain.names}
            known = {name: column for name, column in found.items() if column is not None}
            return known or None
        if not isinstance(self.normals, Mapping):
            return read_columns(self.normals, domain.names, f"{self.what}: normals")
        found = {str(key).removeprefix("normal_"): n for key, n in self.normals.items()}
        unknown = next((name for name in found if name not in domain.names), None)
        if unknown is not None:
            raise ProblemError(f"{self.what}: a normal along {unknown!r}, which is no coordinate")
        return found

    def _checked(self, domain: Domain, given: Mapping[str, ArrayLike], count: int) -> PointArray:
        whole = {name: given.get(name, np.zeros(count)) for name in domain.names}
        normals = self._stacked(whole)
        if len(normals) != count:
            raise ProblemError(f"{self.what}: {len(normals)} normals for {count} points")
        _refuse_gaps(normals, f"{self.what}: normals")
        lengths = np.linalg.norm(normals, axis=1)
        wrong = np.flatnonzero(abs(lengths - 1.0) > UNIT)
        if len(wrong):
            raise ProblemError(
                f"{self.what}: normals must have length 1: {name_rows(wrong)} (counted from 0), "
                f"the first of length {lengths[wrong[0]]:.6g}"
            )
        return normals / lengths[:, np.newaxis]

    def _checked_weights(self, given: ArrayLike, count: int) -> ColumnArray:
        weights = numbers("weights", given, self.what)
        if weights.shape not in ((1,), (count,)):
            raise ProblemError(
                f"{self.what}: weights must be one number or {count}, not {weights.shape}"
            )
        wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
        if len(wrong) or not weights.any():
            place = (
                f": {weights[wrong[0]]:g} in {name_rows(wrong)}" if len(wrong) else ", not all 0"
            )
            raise ProblemError(f"{self.what}: weights must be finite and not negative{place}")
        return np.array(np.broadcast_to(weights, count))


def _refuse_gaps(values: PointArray, what: str) -> None:
    gaps = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(gaps):
        raise ProblemError(f"{what} must be finite: {name_rows(gaps)} (counted from 0)")


def _face_normals(
    domain: Domain, parts: Sequence[Part], points: PointArray, what: str
) -> PointArray | None:
    """The normals of the faces of a box that points lie on; None where none are named.

    Raises:
        ProblemError: points that lie on none of them.
    """
    faces = [part for part in parts if isinstance(part, Face)]
    if not faces or len(faces) < len(parts) or not isinstance(domain, Box):
        return None
    axes = [domain.names.index(face.coordinate) for face in faces]
    ends = [(domain.lower, domain.upper)[f.upper][a] for f, a in zip(faces, axes, strict=True)]
    spans = (domain.upper - domain.lower)[axes]
    off = abs(points[:, axes] - ends) / spans
    nearest = off.argmin(axis=1)
    away = np.flatnonzero(off.min(axis=1) > ROUNDING)
    if len(away):
        raise ProblemError(
            f"{what}: {len(away)} of {len(points)} points do not lie on its faces: "
            f"{name_rows(away)} (counted from 0)"
        )
    normals = np.zeros_like(points)
    for number, (face, axis) in enumerate(zip(faces, axes, strict=True)):
        normals[nearest == number, axis] = face.normal
    return normals
