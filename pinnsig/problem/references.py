"""Numerical references, for problems whose solution is no closed form.

Each is worked out once, in float64, and then evaluated at any points by torch's operations, so that
it can be differentiated like a closed form. A problem keeps one for each set of its coefficients.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from scipy.integrate import solve_ivp
from torch import Tensor

WIDTH = 8
"""How many samples in time a value is interpolated from."""

CHUNK = 2**19
"""How many numbers are worked on at a time, to bound the memory."""


class Samples:
    """Samples at equal steps of time, joined by polynomials through the `WIDTH` nearest.

    Args:
        values: shape (samples, K), at least `WIDTH` of them, the first one at time 0.
        step: time between two samples.
        rates: how the columns move in the main, as exp(rate t): only what is left after that is
            interpolated. Shape (K,); none means that they stand still.
    """

    def __init__(self, values: Tensor, step: float, rates: Tensor | None = None) -> None:
        self.values, self.step, self.rates = values, step, rates
        places = torch.arange(WIDTH, dtype=torch.float64)
        spans = places[:, None] - places
        self._scale = (spans + torch.eye(WIDTH)).prod(1)
        self._moves = None if rates is None else torch.exp(-step * places[:, None] * rates)

    def __call__(self, t: Tensor) -> Tensor:
        """Values at times t of shape (N,), shape (N, K)."""
        place = t / self.step
        first = (place.detach().floor().long() - WIDTH // 2 + 1).clamp(0, len(self.values) - WIDTH)
        offset = place - first
        steps = offset[:, None] - torch.arange(WIDTH, dtype=t.dtype)
        total: Tensor | float = 0.0
        for j in range(WIDTH):  # Lagrange's polynomials
            others = [steps[:, m] for m in range(WIDTH) if m != j]
            weight = math.prod(others[1:], start=others[0]) / self._scale[j]
            sample = self.values[first + j]
            total = total + weight[:, None] * (
                sample if self._moves is None else sample * self._moves[j]
            )
        assert isinstance(total, Tensor)
        if self.rates is None:
            return total
        return total * torch.exp(self.step * offset[:, None] * self.rates)


class ODEReference:
    """The solution of y' = f(t, y) from time 0 on, by the Runge-Kutta method DOP853.

    The method is of order 8 (Hairer, Nørsett and Wanner 1993), with a relative tolerance of 1e-13
    and no step longer than that of the samples.

    Args:
        rates: f(t, y), as plain numbers.
        start: y at time 0, of K numbers.
        until: the last time.
        samples: how many steps to keep, equally spaced.
    """

    def __init__(
        self,
        rates: Callable[[float, np.ndarray], Sequence[float]],
        start: Sequence[float],
        until: float,
        samples: int,
    ) -> None:
        found = solve_ivp(
            rates,
            (0.0, until),
            start,
            method="DOP853",
            t_eval=np.linspace(0.0, until, samples + 1),
            max_step=until / samples,
            rtol=1e-13,
            atol=1e-15,
        )
        self.samples = Samples(torch.from_numpy(found.y.T.copy()), until / samples)

    def __call__(self, t: Tensor) -> tuple[Tensor, ...]:
        """The components of y at times of shape (N,), each of shape (N,)."""
        return self.samples(t).unbind(1)


class PeriodicReference:
    """The solution of u_t = L u + M f(u, x, t), periodic in x, from time 0 on.

    L and M are linear with constant coefficients, given by their symbols: what they make of
    exp(i k x). Fourier modes in x without dealiasing, and the exponential Runge-Kutta method of
    order 4 of Cox and Matthews (2002), with the coefficients of Kassam and Trefethen (2005), in t.

    Args:
        start: u at time 0, a function of x.
        linear: symbol of L, a function of k.
        source: f(u, x, t); x of shape (points,), t a number.
        outer: symbol of M, a function of k; 1 unless given.
        interval: the lower and upper end of x.
        until: the last time.
        points: how many equally spaced points in x; whether u is complex is told by `start`.
        steps: how many steps in time.
    """

    def __init__(
        self,
        start: Callable[[Tensor], Tensor],
        linear: Callable[[Tensor], Tensor],
        source: Callable[[Tensor, Tensor, Tensor], Tensor],
        outer: Callable[[Tensor], Tensor] = torch.ones_like,
        *,
        interval: tuple[float, float],
        until: float,
        points: int,
        steps: int,
    ) -> None:
        low, high = interval
        x = low + (high - low) / points * torch.arange(points, dtype=torch.float64)
        u = start(x)
        self.complex = u.is_complex()
        transform, back = (
            (torch.fft.fft, torch.fft.ifft)
            if self.complex
            else (torch.fft.rfft, lambda c: torch.fft.irfft(c, points))
        )
        frequencies = (torch.fft.fftfreq if self.complex else torch.fft.rfftfreq)(
            points, 1 / points, dtype=torch.float64
        )
        k = 2 * math.pi / (high - low) * frequencies
        L, M = (symbol(k) + 0j for symbol in (linear, outer))

        def rate(c: Tensor, t: float) -> Tensor:
            return M * transform(source(back(c), x, torch.tensor(t, dtype=torch.float64)))

        modes = _march(transform(u), L, rate, until / steps, steps) / points
        if not self.complex:  # the other half of a real function's modes
            modes[:, 1:] *= 2
        size = modes.abs().amax(0)
        kept = size > 1e-15 * size.max()
        self.low, self.k = low, k[kept]
        step = until / steps
        # going back by many times a mode's own decay would magnify rounding
        rates = torch.complex(L.real.clamp(-1 / step, 1 / step), L.imag)
        self.samples = Samples(modes[:, kept], step, rates[kept])

    def __call__(self, x: Tensor, t: Tensor) -> Tensor:
        """u at points x and t of shape (N,), shape (N,)."""
        parts = max(1, CHUNK // len(self.k))
        found = []
        for at, time in zip(x.split(parts), t.split(parts), strict=True):
            (at, place), (time, moment) = _distinct(at), _distinct(time)
            phase = (at - self.low)[:, None] * self.k
            waves = torch.complex(torch.cos(phase), torch.sin(phase))
            found.append((self.samples(time)[moment] * waves[place]).sum(1))
        u = torch.cat(found)
        return u if self.complex else u.real


def _distinct(values: Tensor) -> tuple[Tensor, Tensor | slice]:
    """Distinct values and where each one goes: points on a grid share theirs."""
    if values.requires_grad:
        return values, slice(None)
    return torch.unique(values, return_inverse=True)


def _march(
    start: Tensor, L: Tensor, rate: Callable[[Tensor, float], Tensor], h: float, steps: int
) -> Tensor:
    """Modes at all times, shape (steps + 1, K), of c' = L c + rate(c, t)."""
    # the coefficients are entire functions of h L, and means over a circle about it
    circle = torch.exp(2j * math.pi * (torch.arange(1, 65, dtype=torch.float64) - 0.5) / 64)
    z = (h * L)[:, None] + circle
    e = torch.exp(z)
    half, whole = torch.exp(h * L / 2), torch.exp(h * L)
    q = h * ((torch.exp(z / 2) - 1) / z).mean(1)
    a = h * ((-4 - z + e * (4 - 3 * z + z**2)) / z**3).mean(1)
    b = h * ((4 + 2 * z + e * (2 * z - 4)) / z**3).mean(1)  # twice the method's own
    c = h * ((-4 - 3 * z - z**2 + e * (4 - z)) / z**3).mean(1)
    u, found = start, [start]
    for n in range(steps):
        t = n * h
        first = rate(u, t)
        moved = half * u
        middle = moved + q * first
        second = rate(middle, t + h / 2)
        third = rate(moved + q * second, t + h / 2)
        fourth = rate(half * middle + q * (2 * third - first), t + h)
        u = whole * u + a * first + b * (second + third) + c * fourth
        found.append(u)
    return torch.stack(found)
