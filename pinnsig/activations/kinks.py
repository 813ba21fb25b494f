"""Search for points where a sampled function or its slope jumps."""

from __future__ import annotations

import numpy as np

from pinnsig.activations.sampling import NOISE, PER_DECADE, Array, Branch, Sampler

_REACH = 1e6  # beyond, float64 has too few digits to tell a kink from a fast oscillation
_PARTS = 8
_LEVELS = 18  # down to intervals of 1e-13 x
_MEMORY = 4  # levels, 256 times finer, after which a smooth slope changes far less
_SMALLEST_STEP = 1e-8  # in units of the size of f


def find_kink(sampler: Sampler, right: Branch, left: Branch) -> str | None:
    """Return where f is not C^1, or None if no jump of f or f' is resolved."""
    return (
        _at_zero(right, left) or _away_from_zero(sampler, right) or _away_from_zero(sampler, left)
    )


def _at_zero(right: Branch, left: Branch) -> str | None:
    n = min(len(right.x), len(left.x)) - 1
    x = right.x[1 : n + 1]
    slopes = np.stack([(b.y[1 : n + 1] - b.y[0]) / x for b in (right, left)])
    errors = np.stack([b.noise[1 : n + 1] / x for b in (right, left)])
    decade = np.minimum(np.arange(n) + PER_DECADE, n - 1)
    for branch, slope, error in zip((right, left), slopes, errors, strict=True):
        resolved = np.flatnonzero(np.abs(slope) > 4 * error)
        # The secant from 0 settles, unless f jumps or f' is infinite there.
        if resolved.size:
            i = resolved[0]
            if abs(slope[i]) > 1.5 * abs(slope[decade[i]]) + error[i]:
                rise = branch.sign * slope[i] * x[i]
                return f"f changes by {rise:.6g} between x = 0 and {branch.sign * x[i]:.6g}"
    change = np.abs(slopes[0] - slopes[1])
    resolved = np.flatnonzero(change > 2 * errors.sum(axis=0) + 0.01 * np.abs(slopes).max(axis=0))
    if resolved.size and change[i := resolved[0]] > change[decade[i]] / 2:
        return f"f' jumps at x = 0, from {slopes[1][i]:.6g} to {slopes[0][i]:.6g}"
    return None


def _away_from_zero(sampler: Sampler, branch: Branch) -> str | None:
    """Zoom in on every grid interval, towards its largest change of slope.

    Each level is 4 times finer. Where f is C^1 that change shrinks until rounding hides it; a
    kink keeps it, and a jump of f makes it grow. The last level above rounding decides.
    """
    inside = branch.x <= _REACH
    x, noise = branch.x[inside], branch.noise[inside]
    low, high, noise = x[1:-2], x[3:], noise[3:]
    history: list[Array] = []
    lasting, jumping = np.zeros((2, len(low)), dtype=bool)
    for level in range(_LEVELS + 1):
        t = np.linspace(low, high, _PARTS + 1, axis=-1)
        dx = np.diff(t, axis=-1)
        slope = np.diff(branch.sign * sampler(branch.sign * t), axis=-1) / dx
        change = np.abs(np.diff(slope, axis=-1))
        at, rows = change.argmax(axis=-1), np.arange(len(t))
        largest, finest = change[rows, at], dx.min(axis=-1)
        # The argument of f is rounded too, which counts where f is steep.
        error = noise + NOISE * sampler.eps * high * np.abs(slope).max(axis=-1)
        resolved = (largest > 4 * error / finest) & (level < _LEVELS)
        if (found := np.flatnonzero(lasting & ~resolved)).size:
            i = found[0]
            what = "f" if jumping[i] else "f'"
            sides = "" if jumping[i] else f", from {slope[i][0]:.6g} to {slope[i][-1]:.6g}"
            return f"{what} jumps at x = {branch.sign * low[i]:.6g}{sides}"
        if not resolved.any():
            return None
        history = [h[resolved] for h in [*history[1 - _MEMORY :], largest]]
        low, high, noise = t[rows, at][resolved], t[rows, at + 2][resolved], noise[resolved]
        lasting = history[-1] > history[0] / 2 if len(history) == _MEMORY else low < 0
        jumping = history[-1] > 8 * history[0]
        # Implementations that switch formulas, such as softplus, leave tiny steps.
        step = history[-1] * finest[resolved]
        lasting &= ~jumping | (step > _SMALLEST_STEP * noise / (NOISE * sampler.eps))
    return None
