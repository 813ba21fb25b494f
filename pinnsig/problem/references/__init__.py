"""Numerical references, for problems whose solution is no closed form.

Each is worked out once, in float64, and then evaluated at any points by torch's operations, so that
it can be differentiated like a closed form. A problem keeps one for each set of its coefficients.
"""

from pinnsig.problem.references.harmonic import (
    HarmonicReference,
    corner,
    corner_logarithm,
    edges,
    poles,
    powers,
)
from pinnsig.problem.references.ode import ODEReference
from pinnsig.problem.references.periodic import PeriodicReference

__all__ = [
    "HarmonicReference",
    "ODEReference",
    "PeriodicReference",
    "corner",
    "corner_logarithm",
    "edges",
    "poles",
    "powers",
]
