"""Domains that all tests of geometry run over."""

import numpy as np

from pinnsig.geometry import Annulus, Ball, Box, Cylinder, Disc, Domain, Ellipse, Polygon
from pinnsig.sampling import sampler_function

L_SHAPE = [(0.0, 0.0), (2.0, 0.0), (2.0, 1.0), (1.0, 1.0), (1.0, 2.0), (0.0, 2.0)]
STAR = [(0.0, 1.0), (-0.3, 0.2), (-1.0, 0.3), (-0.4, -0.3), (-0.6, -1.0), (0.1, -0.5), (0.9, -0.9),
        (0.4, -0.1), (1.0, 0.4), (0.3, 0.3)]  # fmt: skip
SQUARE = Box(x=(0.0, 1.0), y=(0.0, 1.0))

PLANE: dict[str, Domain] = {
    "disc": Disc(center=(0.3, -0.2), radius=0.7),
    "ellipse": Ellipse(center=(0.2, -0.1), radii=(1.2, 0.4), angle=0.5),
    "annulus": Annulus(center=(0.1, 0.0), inner=0.4, outer=1.1),
    "L": Polygon(L_SHAPE),
    "star": Polygon(STAR),
    "frame": Polygon(L_SHAPE, holes=[[(0.2, 0.3), (0.7, 0.2), (0.8, 0.9), (0.4, 0.7)]]),
    "hole": SQUARE - Disc(center=(0.4, 0.5), radius=0.25, name="hole"),
    "bite": SQUARE - Disc(center=(1.0, 0.5), radius=0.3),
    "lens": Disc(center=(-0.3, 0.0)) & Disc(center=(0.5, 0.0), radius=0.8),
    "keyhole": Disc(center=(0.0, 0.5), radius=0.6) | Box(x=(-0.2, 0.2), y=(-0.8, 0.4)),
    "nested": (Polygon(L_SHAPE) | Disc(center=(2.0, 0.5), radius=0.6))
    - Disc(center=(0.5, 0.5), radius=0.3)
    - Disc(center=(0.5, 1.9), radius=0.3),
    "L of boxes": Box(x=(0.0, 2.0), y=(0.0, 1.0)) | Box(x=(0.0, 1.0), y=(0.5, 2.0)),
}  # fmt: skip
SPACE: dict[str, Domain] = {
    "ball": Ball(center=(0.1, 0.2, -0.3), radius=0.8),
    "cylinder": Cylinder(radius=0.6, height=(-0.5, 0.7)),
    "cut ball": Ball(radius=1.0) - Box(x=(0.2, 2.0), y=(-2.0, 2.0), z=(-2.0, 2.0)),
    "bored": Box(x=(-1.0, 1.0), y=(-1.0, 1.0), z=(0.0, 0.5))
    - Cylinder(radius=0.5, height=(-1.0, 1.0)),
}
ALL = PLANE | SPACE


def drawer(sampler: str = "uniform", seed: int = 0):
    """A `draw` for domains."""
    function, generator = sampler_function(sampler), np.random.default_rng(seed)
    return lambda n, dimensions: function(n, dimensions, generator)


def boundary(domain: Domain, count: int, sampler: str = "uniform", seed: int = 0):
    """Points and normals of the whole boundary."""
    return domain.sample_parts(domain.sides, count, drawer(sampler, seed))


def cells(domain: Domain, side: int):
    """Centres of the cells of a regular grid of the box around a domain, and how large they are."""
    axes = [
        low + (np.arange(side) + 0.5) / side * (high - low)
        for low, high in zip(domain.lower, domain.upper, strict=True)
    ]
    mesh = np.meshgrid(*axes, indexing="ij")
    size = float(np.prod((domain.upper - domain.lower) / side))
    return np.stack([axis.ravel() for axis in mesh], axis=1), size


def bins(domain: Domain, points: np.ndarray, side: int = 5) -> np.ndarray:
    """How many points lie in each cell of a coarse grid of the box around a domain."""
    edges = list(zip(domain.lower, domain.upper, strict=True))
    return np.histogramdd(points, bins=side, range=edges)[0].ravel()
