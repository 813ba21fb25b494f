"""A dense inverse Hessian of Broyden's family, which costs one pass over one triangle a step.

The update is put off until the next gradient is multiplied with the matrix, and done in the same
pass. Meanwhile the product of the matrix to come with the present gradient, the next direction,
follows from the rank-two formula and H g alone. Since H g itself is always taken from the matrix,
errors of that formula do not add up.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pinnsig.optim.memory import dot, fetch
from pinnsig.optim.symmetric import RankTwo, SymmetricMatrix, make_matrix

LENGTH_RATE = 0.3
"""Weight of the last line in the mean length."""

Rule = Callable[[float, float, int], tuple[float, float]]
"""tau and phi from b = s.B s / y.s, h = y.H y / y.s and the number of parameters; B = H^-1."""


class DenseInverse:
    """H <- (H - w w^T / y.w + phi (y.w) v v^T) / tau + rho s s^T.

    With w = H y, rho = 1 / y.s and v = rho s - w / y.w. The first pair meets H = (y.s / y.y) I.

    Args:
        rule: gives phi and tau.
        like: gives the number of parameters, type and device.

    Attributes:
        largest: see `InverseHessian`.
    """

    def __init__(self, rule: Rule, like: Tensor) -> None:
        self.rule = rule
        self.pairs = 0
        self.matrix: SymmetricMatrix | None = None  # its memory is taken with the first pair
        self.pending: RankTwo | None = None
        self.log_length = 0.0
        # of the gradient measured last: H g, g.H g, g.g and its largest entry
        self.product = torch.zeros_like(like)
        self.along, self.gg, self.largest = 0.0, 0.0, 0.0

    def __len__(self) -> int:
        return self.pairs

    @property
    def length(self) -> float:
        """See `InverseHessian.length`: where the loss was lowest along the last few lines.

        Scaling leaves H too large as a rule, so that lengths near 1/2 are best. The quadratic with
        the slopes at both ends of a step has its minimum at s.B s / y.s.
        """
        return min(1.0, math.exp(self.log_length))

    def clear(self) -> None:
        """Forget all pairs."""
        self.pairs, self.pending, self.log_length = 0, None, 0.0

    def measure(self, g: Tensor) -> None:
        """Meet a gradient that comes without a pair."""
        if self.pairs:
            self.product = self._multiply(g)
            self.along, self.gg, self.largest = fetch(
                dot(g, self.product), dot(g, g), g.abs().max()
            )
        else:
            self.gg, self.largest = fetch(dot(g, g), g.abs().max())

    def direction(self, g: Tensor) -> tuple[Tensor, float]:
        """-H g for the gradient that was measured last, and its slope, -g.H g."""
        if not self.pairs:
            return -g, -self.gg
        return -self.product, -self.along

    def add(self, s: Tensor, y: Tensor, g: Tensor, t: float) -> bool:
        """Learn from a step; see `InverseHessian.add`.

        A pair without positive curvature is left out. Everything is forgotten where H is not
        positive any more.
        """
        if self.pairs:
            product = self._multiply(g)
            return self._learn(s, y, g, product, product - self.product, t * t * self.along)
        products, self.largest = _inner_products(y, s, g)
        (yy, ys, _), (_, ss, _), (_, _, self.gg) = products
        if not _curved(ys, yy, s.dtype):
            return False
        self.matrix = self.matrix or make_matrix(s)
        scale = ys / yy
        self.matrix.scaled_identity(scale)
        return self._learn(s, y, g, scale * g, scale * y, ss / scale)

    def _learn(
        self, s: Tensor, y: Tensor, g: Tensor, product: Tensor, w: Tensor, sbs: float
    ) -> bool:
        """Take in a pair, given H g, w = H y and s.B s."""
        products, self.largest = _inner_products(w, s, y, g)
        (ww, _, yw, _), (_, ss, ys, _), (_, _, yy, _), (_, _, _, self.gg) = products
        update = None
        if _curved(ys, yy, s.dtype):
            b, h = sbs / ys, yw / ys
            if not (min(b, h) > 0 and math.isfinite(b * h + ww + ss)):
                self.clear()
                return False
            tau, phi = self.rule(b, h, s.numel())
            update = _rank_two(torch.stack([w, s]), tau, phi, ys, yw, ww, ss)
            self.pairs += 1
            if self.pairs > 1:  # the first direction was steepest descent
                self.log_length += LENGTH_RATE * (math.log(b) - self.log_length)
            product = update.scale * product + update.signed.T @ (update.vectors @ g)
        self.pending, self.product = update, product
        (self.along,) = fetch(dot(g, product))
        if not 0 < self.along < math.inf:
            self.clear()
        return update is not None and self.pairs > 0

    def _multiply(self, g: Tensor) -> Tensor:
        """H g, with the update that was put off."""
        assert self.matrix is not None
        pending, self.pending = self.pending, None
        return self.matrix.update_and_multiply(pending, g)

    def state(self) -> dict[str, Any]:
        """The lower triangle of H, and what is known of the present gradient."""
        matrix = self.matrix if self.pairs else None
        if self.pending is not None:
            self._multiply(torch.zeros_like(self.product))  # done now instead of with the next one
        return {
            "triangle": None if matrix is None else matrix.triangle(),
            "product": self.product.clone(),
            "numbers": [self.along, self.gg, self.largest, self.log_length],
            "pairs": self.pairs,
        }

    @classmethod
    def restored(cls, rule: Rule, state: dict[str, Any], like: Tensor) -> "DenseInverse":
        """The matrix from a state, ready for the same gradient."""
        found = cls(rule, like)
        found.pairs = state["pairs"]
        found.along, found.gg, found.largest, found.log_length = state["numbers"]
        found.product = state["product"].to(like, copy=True)
        if state["triangle"] is not None:
            found.matrix = make_matrix(like)
            found.matrix.set_triangle(state["triangle"].to(like))
        return found


def _rank_two(
    rows: Tensor, tau: float, phi: float, ys: float, yw: float, ww: float, ss: float
) -> RankTwo:
    """The update as squares, from w and s as rows.

    It is a quadratic form in w and s; its eigenvectors, for rows of length 1, are the squares.
    """
    rho, lengths = 1 / ys, np.sqrt([ww, ss])
    form = np.array(
        [[(phi - 1) / (tau * yw), -phi * rho / tau],
         [-phi * rho / tau, rho * (1 + phi * yw * rho / tau)]]
    )  # fmt: skip
    values, vectors = np.linalg.eigh(form * np.outer(lengths, lengths))
    combination = (vectors * np.sqrt(np.abs(values))).T / lengths
    squares = torch.from_numpy(combination).to(rows) @ rows
    signs = torch.from_numpy(np.sign(values)).to(rows)
    return RankTwo(1 / tau, squares, signs.unsqueeze(1) * squares)


def _inner_products(*vectors: Tensor) -> tuple[list[list[float]], float]:
    """Of all vectors with one another, and the largest entry, by size, of the last one."""
    stacked = torch.stack(vectors)
    wide = stacked if stacked.device.type == "mps" else stacked.double()
    *products, largest = fetch(wide @ wide.T, vectors[-1].abs().max())
    count = len(vectors)
    return [products[i : i + count] for i in range(0, count * count, count)], largest


def _curved(ys: float, yy: float, dtype: torch.dtype) -> bool:
    """Whether a pair has curvature above zero and above rounding."""
    return ys > torch.finfo(dtype).eps * yy
