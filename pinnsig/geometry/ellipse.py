"""Ellipses."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from scipy.special import ellipeinc

from pinnsig.core.types import ColumnArray, MaskArray, PointArray, UnitArray
from pinnsig.geometry.checks import checked_names, checked_number, checked_part, checked_point
from pinnsig.geometry.domain import Domain, Placed, PlacedOn
from pinnsig.geometry.formulas import At, Formula
from pinnsig.geometry.maps import to_disc
from pinnsig.geometry.parts import NamedPart, Part

STEPS = 60  # of bisection: as many as a number has digits
KNOTS = 1025


class Ellipse(Domain):
    """An ellipse: `Ellipse(center=(0, 0), radii=(2, 1), angle=0.3)`.

    Args:
        center: its coordinates.
        radii: half its axes, above 0.
        angle: by which the first axis is turned from the first coordinate, in radians.
        names: of the coordinates.
        name: of its boundary, by which a condition can tell it from others.

    Raises:
        ProblemError: a centre, radius or name that cannot be.
    """

    def __init__(
        self,
        center: Sequence[float] = (0.0, 0.0),
        radii: Sequence[float] = (1.0, 1.0),
        angle: float = 0.0,
        *,
        names: Sequence[str] | None = None,
        name: str = "",
    ) -> None:
        self.center = checked_point(center, "Ellipse: center", 2)
        both = checked_point(radii, "Ellipse: radii", 2)
        self.radii = np.array([checked_number(float(r), "Ellipse: radii", above=0.0) for r in both])
        self.angle = checked_number(angle, "Ellipse: angle")
        self.names = checked_names(names, 2, "Ellipse")
        self.part = NamedPart(checked_part(name, "Ellipse"))
        c, s = math.cos(self.angle), math.sin(self.angle)
        self.axes = np.array([[c, s], [-s, c]])  # rows: the directions of the axes
        reach = np.sqrt((self.radii[:, None] ** 2 * self.axes**2).sum(axis=0))
        self.lower, self.upper = self.center - reach, self.center + reach

    def __repr__(self) -> str:
        (x, y), (a, b) = self.center, self.radii
        turned = f", angle={self.angle:g}" if self.angle else ""
        return f"Ellipse(center=({x:g}, {y:g}), radii=({a:g}, {b:g}){turned})"

    @property
    def all_parts(self) -> tuple[Part, ...]:
        """All of it is one."""
        return (self.part,)

    def inside(self, points: PointArray) -> MaskArray:
        """Return which of the points lie inside."""
        return (((points - self.center) @ self.axes.T / self.radii) ** 2).sum(axis=1) < 1.0

    def distance(self, points: PointArray) -> ColumnArray:
        """Return the distance to the ellipse, negative inside.

        The nearest point is (a^2 x / (t + a^2), b^2 y / (t + b^2)) for the largest root t of
        (a x / (t + a^2))^2 + (b y / (t + b^2))^2 = 1, which is found by bisection.
        Source: Eberly, Distance from a Point to an Ellipse, an Ellipsoid, or a Hyperellipsoid.
        """
        order = np.argsort(-self.radii)
        a, b = self.radii[order]
        x, y = np.abs((points - self.center) @ self.axes.T)[:, order].T
        low = np.full(len(points), -b * b) + b * y
        high = -b * b + np.hypot(a * x, b * y)
        for _ in range(STEPS):
            t = 0.5 * (low + high)
            with np.errstate(divide="ignore", invalid="ignore"):
                beyond = (a * x / (t + a * a)) ** 2 + (b * y / (t + b * b)) ** 2 > 1.0
            low, high = np.where(beyond, t, low), np.where(beyond, high, t)
        t = 0.5 * (low + high)
        u = np.clip(np.where(t + a * a > 0, a * x / np.maximum(t + a * a, 1e-300), 0.0), 0.0, 1.0)
        v = np.sqrt(np.maximum(1.0 - u * u, 0.0))
        near = np.hypot(a * u - x, b * v - y)
        return np.where(self.inside(points), -near, near)

    def scatter(self, unit: UnitArray) -> Placed:
        """Place all points inside: those of a disc, stretched."""
        points = self.center + (to_disc(unit) * self.radii) @ self.axes
        return points, np.ones(len(unit), dtype=bool)

    def scatter_on(self, part: Part, unit: UnitArray) -> PlacedOn:
        """Place all points on the ellipse, by inverting its length up to an angle."""
        del part
        angle = self._angle_at(unit[:, 0] * self.named_measure(self.part))
        round_ = np.column_stack([np.cos(angle), np.sin(angle)])
        normals = round_ / self.radii
        normals /= np.linalg.norm(normals, axis=1)[:, None]
        points = self.center + (round_ * self.radii) @ self.axes
        return points, normals @ self.axes, np.ones(len(unit), dtype=bool)

    def signed_formula(self) -> Formula:
        """w / sqrt(|grad w|^2 + w^2 / l^2), w = 1 - (x / a)^2 - (y / b)^2, l = (a + b) / 4.

        Of a circle it is (R^2 - r^2) / (2 R) up to terms of higher order at the boundary.
        """
        (a, b), (x0, y0) = self.radii.tolist(), self.center.tolist()
        (ux, uy), (vx, vy) = self.axes.tolist()
        first, second = self.names

        def formula(at: At) -> Any:
            dx, dy = at[first] - x0, at[second] - y0
            p, q = (ux * dx + uy * dy) / a, (vx * dx + vy * dy) / b
            w = 1.0 - p * p - q * q
            slope = 4.0 * (p * p / a**2 + q * q / b**2)
            return w / torch.sqrt(slope + w * w * (16.0 / (a + b) ** 2))

        return formula

    @property
    def measure(self) -> float:
        """Its area."""
        return math.pi * float(self.radii.prod())

    def named_measure(self, part: Part) -> float:
        """Its length."""
        del part
        return float(self._length(np.array([2.0 * math.pi]))[0])

    def _length(self, angle: ColumnArray) -> ColumnArray:
        """The length from (a, 0) to (a cos, b sin) of an angle: an elliptic integral."""
        a, b = self.radii
        return b * ellipeinc(angle, 1.0 - (a / b) ** 2)

    def _angle_at(self, length: ColumnArray) -> ColumnArray:
        knots = np.linspace(0.0, 2.0 * math.pi, KNOTS)
        angle = np.interp(length, self._length(knots), knots)
        for _ in range(4):  # Newton's steps
            rate = np.hypot(self.radii[0] * np.sin(angle), self.radii[1] * np.cos(angle))
            angle -= (self._length(angle) - length) / rate
        return angle
