"""Numerical check of the odd-sigmoid class (paper, Definition 4.1) for any function.

The function is sampled on a geometric grid of both signs. Every comparison is between secant
slopes with their rounding error, and a condition fails only by more than that error: slopes
that underflow far out, or changes below rounding, are never held against a function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pinnsig.activations import kinks
from pinnsig.activations.sampling import PER_DECADE, Branch, Sampler, sample_branches

_HELD = "no violation found"


@dataclass(frozen=True)
class Condition:
    """One condition of Definition 4.1: whether it holds, and where it fails if not."""

    name: str
    holds: bool
    detail: str


@dataclass(frozen=True)
class Membership:
    """The five conditions (i) to (v) of Definition 4.1."""

    regularity: Condition
    oddness: Condition
    boundedness: Condition
    monotonicity: Condition
    slope_decay: Condition

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions in the order of the definition."""
        return (
            self.regularity,
            self.oddness,
            self.boundedness,
            self.monotonicity,
            self.slope_decay,
        )

    @property
    def holds(self) -> bool:
        """Whether f is in the class as far as sampling can tell."""
        return all(c.holds for c in self.conditions)

    def __str__(self) -> str:
        return "\n".join(
            f"{c.name}: {'holds' if c.holds else 'fails'}: {c.detail}" for c in self.conditions
        )


def check_membership(f: Callable[[Tensor], Tensor]) -> Membership:
    """Check the conditions of Definition 4.1 on samples of f with 1e-16 <= |x| <= 1e14.

    Args:
        f: elementwise function of a 1-d float64 tensor, such as an `Activation`. Values that
            overflow for large |x| count as unbounded.

    Raises:
        ActivationError: if f fails, or returns NaN, another shape, or infinity at |x| <= 1.
    """
    with torch.no_grad():
        sampler = Sampler(f)
        right, left = sample_branches(sampler)
        return Membership(
            _condition("regularity", kinks.find_kink(sampler, right, left)),
            _condition("odd symmetry", _find_even_part(right, left)),
            _condition("boundedness", _find_growth(right, left)),
            _condition("strict monotonicity", _find_descent(right) or _find_descent(left)),
            _condition("slope decay", _find_slope_rise(right)),
        )


def _condition(name: str, failure: str | None) -> Condition:
    return Condition(name, failure is None, failure or _HELD)


def _find_even_part(right: Branch, left: Branch) -> str | None:
    n = min(len(right.x), len(left.x))
    # The left branch is stored as -f(-x).
    gap = np.abs(right.y[:n] - left.y[:n])
    broken = np.flatnonzero(gap > np.maximum(right.noise[:n], left.noise[:n]))
    if not broken.size:
        return None
    # Of all such points, the one nearest to 1 reads best.
    i = int(broken[np.abs(np.log(right.x[broken] + 1e-99)).argmin()])
    (x, a), (_, b) = right.signed(i), left.signed(i)
    return f"f(x) = {a:.6g} but f(-x) = {b:.6g} at x = {x:.6g}"


def _find_growth(right: Branch, left: Branch) -> str | None:
    for branch in (right, left):
        if not branch.bounded:
            x, y = branch.signed(-1)
            return f"|f| still grows at x = {x:.6g}, where f = {y:.6g}"
    return None


def _find_descent(branch: Branch) -> str | None:
    slope, error = branch.secants()
    if (down := np.flatnonzero(slope + error < 0)).size:
        i = int(down[0])
        return f"f' = {slope[i]:.6g} near x = {branch.signed(i)[0]:.6g}"
    x, y, noise = branch.x[1:], branch.y[1:] - branch.y[0], branch.noise[1:]
    rising = np.flatnonzero(y > 4 * noise)
    if not rising.size:
        return f"f does not rise from x = 0 to {branch.signed(-1)[0]:.6g}"
    # f(x)/x tends to f'(0) > 0; when it still falls tenfold per decade, to 0.
    i = int(rising[0])
    j = min(i + PER_DECADE, len(x) - 1)
    if y[j] / x[j] > 1.5 * y[i] / x[i]:
        return f"f'(0) = 0: f(x)/x falls to {y[i] / x[i]:.6g} at x = {branch.sign * x[i]:.6g}"
    # A tail may fade into rounding, but not end in one step.
    rise, error = np.diff(branch.y), branch.noise[1:]
    last = int(np.flatnonzero(rise > error)[-1])
    if last < len(rise) - 1 and rise[last] > 1e8 * error[last]:
        return f"f' = 0 for x beyond {branch.signed(last + 1)[0]:.6g}, where f is constant"
    return None


def _find_slope_rise(branch: Branch) -> str | None:
    slope, error = (v[1:] for v in branch.secants())
    x = branch.x[1:]
    ceiling = np.minimum.accumulate(slope + error)
    rising = np.flatnonzero(slope[1:] - error[1:] > ceiling[:-1])
    if rising.size:
        i = int(rising[0]) + 1
        j = int(np.argmin((slope + error)[:i]))
        return f"f' rises from {slope[j]:.6g} near x = {x[j]:.6g} to {slope[i]:.6g} near {x[i]:.6g}"
    if not np.any(slope + error < np.maximum.accumulate(slope - error)):
        return f"f' is constant on x > 0, near {slope[-1]:.6g}"
    return None
