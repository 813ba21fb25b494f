"""References for equations that are periodic in space, by Fourier modes."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from pinnsig.problem.references.exponential import march
from pinnsig.problem.references.samples import WIDTH, Samples

CHUNK = 2**19
"""How many numbers are worked on at a time, to bound the memory."""


class PeriodicReference:
    """The solution of u_t = L u + M f(u, x, t), periodic in x (or in x and y), from time 0 on.

    L and M are linear with constant coefficients, given by their symbols: what they make of
    exp(i k x), or of exp(i (k x + l y)). Fourier modes in space without dealiasing, and the
    exponential Runge-Kutta method of order 4 in time (`exponential.march`).

    Args:
        start: u at time 0, a function of x of shape (points,), or of x and y of shape (points,
            points). A system gives its fields along a first dimension of their own.
        linear: symbol of L, a function of k, or of k and l, for each field where there are more.
        source: f(u, x, t), or f(u, x, y, t); u has the shape that `start` gives, t is a number.
        outer: symbol of M, like that of L; 1 unless given.
        interval: the lower and upper end of x, and of y.
        until: the last time.
        points: how many equally spaced points in x, and in y; whether u is complex is told by
            `start`.
        steps: how many steps in time.
        every: how many steps lie between two samples that are kept; what lies between is
            interpolated.
        dimensions: of space, 1 or 2.
    """

    def __init__(
        self,
        start: Callable[..., Tensor],
        linear: Callable[..., Tensor],
        source: Callable[..., Tensor],
        outer: Callable[..., Tensor] | None = None,
        *,
        interval: tuple[float, float],
        until: float,
        points: int,
        steps: int,
        every: int = 1,
        dimensions: int = 1,
    ) -> None:
        low, high = interval
        axis = low + (high - low) / points * torch.arange(points, dtype=torch.float64)
        places = torch.meshgrid(*[axis] * dimensions, indexing="ij")
        u = start(*places)
        self.low, self.dimensions, self.complex = low, dimensions, u.is_complex()
        self.system = u.dim() > dimensions
        sides = tuple(range(-dimensions, 0))
        scale = 2 * math.pi / (high - low) * points
        whole = scale * torch.fft.fftfreq(points, dtype=torch.float64)
        last = whole if self.complex else scale * torch.fft.rfftfreq(points, dtype=torch.float64)
        waves = [whole] * (dimensions - 1) + [last]
        k = torch.meshgrid(*waves, indexing="ij")
        L = linear(*k) + 0j
        M = 1.0 if outer is None else outer(*k)

        def forward(values: Tensor) -> Tensor:
            return (torch.fft.fftn if self.complex else torch.fft.rfftn)(values, dim=sides)

        def back(modes: Tensor) -> Tensor:
            if self.complex:
                return torch.fft.ifftn(modes, dim=sides)
            return torch.fft.irfftn(modes, s=[points] * dimensions, dim=sides)

        def rate(modes: Tensor, t: float) -> Tensor:
            time = torch.tensor(t, dtype=torch.float64)
            return M * forward(source(back(modes), *places, time))

        modes = march(forward(u), L, rate, until / steps, steps, every) / points**dimensions
        if not self.complex:  # the other half of a real function's modes
            modes[..., 1:] *= 2
        fields = modes.reshape(len(modes), -1, *k[0].shape)
        L = L.expand(u.shape[:-dimensions] + k[0].shape).reshape(fields.shape[1:])
        size = fields.abs().amax((0, 1))
        self.waves = []
        for side in range(dimensions):  # those that weigh something
            others = [d for d in range(dimensions) if d != side]
            weight = size.amax(others) if others else size
            kept = (weight > 1e-15 * size.max()).nonzero()[:, 0]
            self.waves.append(waves[side][kept])
            fields = fields.index_select(side + 2, kept)
            L = L.index_select(side + 1, kept)
        self.shape, step = L.shape, until / steps * every
        # going back by many times a mode's own decay would magnify rounding
        rates = torch.complex(L.real.clamp(-1 / step, 1 / step), L.imag).flatten()
        self.samples = Samples(fields.flatten(1), step, rates if dimensions == 1 else None)

    def __call__(self, *coordinates: Tensor) -> Tensor:
        """u at points x (and y) and t of shape (N,), shape (N,); of a system (fields, N)."""
        *places, t = coordinates
        groups = self._groups(t, any(c.requires_grad for c in coordinates))
        found = [self._sum([place[g] for place in places], t[g]) for g in groups]
        u = torch.cat(found, 1)[:, torch.cat(groups).argsort()]
        u = u if self.complex else u.real
        return u if self.system else u[0]

    def _groups(self, t: Tensor, differentiable: bool) -> list[Tensor]:
        """Which points to take together: those of one time, as on a grid, or of similar times."""
        if not differentiable and 4 * len(torch.unique(t)) <= len(t):
            shared = t
        elif self.dimensions == 1:
            return list(torch.arange(len(t)).split(max(1, CHUNK // math.prod(self.shape))))
        else:
            shared = self.samples.window(t.detach())[0]
        _, moment, counts = torch.unique(shared, return_inverse=True, return_counts=True)
        size = max(1, CHUNK // (math.prod(self.shape) // self.shape[-1]))
        alike = moment.argsort(stable=True).split(counts.tolist())
        return [piece for group in alike for piece in group.split(size)]

    def _sum(self, places: list[Tensor], t: Tensor) -> Tensor:
        """The sum of all modes at the points of a group, shape (fields, n)."""
        own, weights = "", None
        if not t.requires_grad and bool((t == t[0]).all()):
            modes = self.samples(t[:1]).view(self.shape)
        elif self.dimensions == 1:
            modes, own = self.samples(t).view(-1, *self.shape), "n"
        else:  # of all samples about these times, and then between them: much the smaller work
            first, weights = self.samples.window(t)
            modes = self.samples.values[first[0] : first[0] + WIDTH].view(-1, *self.shape)
        for place, k in reversed(list(zip(places, self.waves, strict=True))):
            phase = (place - self.low)[:, None] * k
            wave = torch.complex(torch.cos(phase), torch.sin(phase))
            modes, own = torch.einsum(f"{own}...k,nk->n...", modes, wave), "n"
        if weights is not None:
            modes = torch.einsum("nsf,ns->nf", modes, weights.to(modes.dtype))
        return modes.T
