"""Samples of a function on geometric grids, with an estimate of their rounding error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pinnsig.core.errors import ActivationError, whole_message

Array = NDArray[np.float64]

PER_DECADE = 232  # grid points, each 1% beyond the last
NOISE = 64
"""Rounding error allowed for, in units of eps times the size of f."""


class Sampler:
    """Evaluates f on arrays and checks what it returns."""

    def __init__(self, f: Callable[[Tensor], Tensor]) -> None:
        self._f = f
        self.eps = float(np.finfo(np.float64).eps)

    def __call__(self, x: Array) -> Array:
        """Return f(x), which may be infinite, for an array of any shape.

        Raises:
            ActivationError: if f fails, or returns NaN or anything but one float for each x.
        """
        points = torch.from_numpy(np.ascontiguousarray(x).ravel())
        try:
            values = self._f(points.clone())
        except ActivationError:
            raise
        except Exception as error:
            reason = whole_message(error)
            raise ActivationError(f"the function fails on a float64 tensor: {reason}") from error
        if not isinstance(values, Tensor) or not values.is_floating_point():
            raise ActivationError("the function must return a floating-point tensor")
        if values.shape != points.shape:
            raise ActivationError(
                f"the function returns shape {tuple(values.shape)} for {tuple(points.shape)}; "
                "it must act elementwise"
            )
        self.eps = max(self.eps, torch.finfo(values.dtype).eps)
        y = values.double().cpu().numpy()
        if (bad := np.isnan(y)).any():
            raise ActivationError(
                f"the function returns NaN at x = {points[int(bad.argmax())]:.6g}"
            )
        return y.reshape(x.shape)


@dataclass(frozen=True)
class Branch:
    """f on one side of 0, as s f(s x) over x >= 0 with s = `sign`, and |error| <= `noise`."""

    sign: float
    x: Array
    y: Array
    noise: Array
    bounded: bool

    def secants(self) -> tuple[Array, Array]:
        """Return the slopes between neighbouring points and their rounding errors."""
        dx = np.diff(self.x)
        return np.diff(self.y) / dx, self.noise[1:] / dx

    def signed(self, i: int) -> tuple[float, float]:
        """Return the i-th point and value of f itself."""
        return self.sign * float(self.x[i]), self.sign * float(self.y[i])


def sample_branches(sampler: Sampler) -> tuple[Branch, Branch]:
    """Return f on x >= 0 and x <= 0, cut off where |f| overflows.

    Raises:
        ActivationError: if the sampler does, or f is infinite for |x| <= 1.
    """
    x = np.concatenate(([0.0], np.geomspace(1e-16, 1e14, 30 * PER_DECADE + 1)))
    return _branch(sampler, x, 1.0), _branch(sampler, x, -1.0)


def _branch(sampler: Sampler, x: Array, sign: float) -> Branch:
    y = sign * sampler(sign * x)
    # Room for differences of values near overflow.
    overflow = np.abs(y) > np.finfo(np.float64).max / 4
    if overflow[x <= 1].any():
        raise ActivationError(f"the function is infinite at x = {sign * x[overflow.argmax()]:.6g}")
    n = int(overflow.argmax()) if overflow.any() else len(x)
    top = np.maximum.accumulate(np.abs(y[:n]))
    # A bounded odd-sigmoid tail gains little even over the last decade, a logarithm does not.
    bounded = n == len(x) and bool(top[-1] <= 1.001 * top[x <= x[-1] / 10][-1])
    # Values near 0 may be differences of terms as large as f is further out.
    size = np.full(n, top[-1]) if bounded else np.maximum(top, top[x[:n] <= 1][-1])
    return Branch(sign, x[:n], y[:n], NOISE * sampler.eps * size, bounded)
