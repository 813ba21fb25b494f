"""What noise in the data leaves unknown of what is learned: the covariance of the minimiser.

Training minimises |r|^2 over all weights, where r holds the scaled residuals of data, equation and
conditions. To first order, noise e in the data moves the minimiser by H^-1 J_d^T e, with J the
Jacobian of r, J_d its rows of data, and H = J^T J. The equation's rows are in H: they hold the
network to solutions as firmly as training does, and what a coefficient can do through the network
is eliminated by the inverse. Source: Seber and Wild, Nonlinear Regression (1989), chapters 2 and 5;
the "sandwich" of Huber (1967), since only the data are random.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from pinnsig.core.errors import PinnsigError
from pinnsig.objective import Block, Objective
from pinnsig.objective.rows import jacobian_blocks
from pinnsig.optim.gauss_newton.linearization import add_lower_gram
from pinnsig.problem.condition import WEIGHTS
from pinnsig.problem.point_data import FACTOR, NOISE, OF

LARGEST = 6000  # parameters, whose matrix is factorised
CELLS = 2**23  # of rows at once
DATA_CELLS = 5e7  # of all rows of data
DAMPING = 1e-10  # of the diagonal: directions that training does not see stay where they are
DEAD = 1e-10  # of the largest derivative: what has less is not moved


class UnknownError(PinnsigError):
    """Why there is no covariance, in one line."""


@dataclass(frozen=True)
class Measured:
    """Rows of one measured quantity.

    Attributes:
        name: of the term, with the quantity's where there are several.
        residual: r, scaled as the loss has it, shape (M,).
        jacobian: its rows, shape (M, P).
        sigma: the standard deviation of each of r, where that is given, shape (M,).
        scale: of r to the measured quantity: r * scale is a deviation, shape (M,).
    """

    name: str
    residual: Tensor
    jacobian: Tensor
    sigma: Tensor | None
    scale: Tensor


@dataclass(frozen=True)
class Noise:
    """The noise of the measurements.

    Attributes:
        levels: the standard deviation by term, in the units of the measured values; where it is
            given, its root mean square.
        given: whether it is given for all, not estimated from what is left of the data.
        degrees: of freedom that the estimate has.
        rows: standard deviations of all scaled rows.
    """

    levels: dict[str, float]
    given: bool
    degrees: float
    rows: Tensor


@dataclass(frozen=True)
class Curvature:
    """The Gauss-Newton matrix of a loss |r|^2 at its parameters, factorised.

    Attributes:
        scales: of the parameters, shape (P,).
        matrix: the scaled matrix, whose diagonal is 1; its lower triangle.
        lower: the Cholesky factor of that with DAMPING added.
        data: rows of the data.
    """

    scales: Tensor
    matrix: Tensor
    lower: Tensor
    data: list[Measured]

    def damped(self, damping: float) -> "Curvature":
        """Return the same with another damping of the scaled matrix.

        Raises:
            UnknownError: it is not positive.
        """
        matrix = self.matrix.clone()
        matrix.diagonal().add_(damping)
        lower, info = torch.linalg.cholesky_ex(matrix)
        if int(info) or not lower.isfinite().all():
            raise UnknownError("the Gauss-Newton matrix is not positive at these weights")
        return replace(self, lower=lower)

    def solve(self, right: Tensor) -> Tensor:
        """Return H^-1 times columns, shape (P, M)."""
        s = self.scales.unsqueeze(1)
        return s * torch.cholesky_solve(s * right, self.lower)

    @cached_property
    def rows(self) -> Tensor:
        """All rows of data, shape (N, P)."""
        return torch.cat([part.jacobian for part in self.data])

    def noise(self) -> Noise:
        """Return the noise that is given, or that the data's residuals tell of.

        An estimate divides by N less what the fit has taken up: the trace of (1 - A)^T (1 - A),
        where A = J_d H^-1 J_d^T is what the fit makes of the data.

        Raises:
            UnknownError: the fit takes up all of the data.
        """
        through = self.solve(self.rows.T).T
        taken = (through * self.rows).sum(1)
        squares = ((through @ (self.rows.T @ self.rows)) * through).sum(1)
        free = (1 - 2 * taken + squares).split([len(part.residual) for part in self.data])
        levels, rows, degrees, given = {}, [], 0.0, True
        for part, own in zip(self.data, free, strict=True):
            if part.sigma is not None:
                sigma, own_degrees = part.sigma, float(own.sum())
            else:
                given, own_degrees = False, float(own.sum())
                if own_degrees < 0.5:
                    raise UnknownError(
                        f"the fit takes up all of the data of {part.name}, which leaves nothing to "
                        "tell their noise by: give noise= with them, or more data"
                    )
                level = (part.residual.square().sum() / own_degrees).sqrt()
                sigma = level.expand(len(part.residual))
            degrees += own_degrees
            rows.append(sigma)
            levels[part.name] = float((sigma * part.scale).square().mean().sqrt())
        return Noise(levels, given, degrees, torch.cat(rows))

    def covariance(self, slopes: Tensor, noise: Noise) -> Tensor:
        """Return the covariance of quantities, shape (M, M).

        Args:
            slopes: their derivatives in the parameters, shape (P, M).
            noise: of the data.
        """
        moved = noise.rows.unsqueeze(1) * (self.rows @ self.solve(slopes))
        return moved.T @ moved


def curvature(objective: Objective) -> Curvature:
    """Return the Gauss-Newton matrix at the parameters as they stand, with the rows of data.

    Raises:
        UnknownError: there are no data with a weight, or too many parameters or rows of data.
    """
    parameters = len(objective.flat)
    conditions = objective.model.problem.terms()
    groups = {name: condition.group for name, condition in conditions.items()}
    weights = dict(zip(objective.term_names, objective.given_weights, strict=True))
    blocks = [block for block in objective.blocks if groups.get(block.name) == "data"]
    blocks = [block for block in blocks if weights[block.name] > 0]
    if not blocks:
        raise UnknownError("there are no measured data (PointData), whose noise could be followed")
    if parameters > LARGEST:
        raise UnknownError(
            f"the matrix of {parameters:,} parameters is not factorised above {LARGEST:,}: "
            "take a smaller network"
        )
    count = sum(block.rows for block in blocks)
    if count * parameters > DATA_CELLS:
        raise UnknownError(f"{count:,} rows of data by {parameters:,} parameters are too many")
    gram = objective.flat.values.new_zeros(parameters, parameters)
    kept: dict[int, list[tuple[Tensor, Tensor, Tensor]]] = {}
    places = _places(objective, blocks)
    for rows in jacobian_blocks(objective, max(CELLS // parameters, 1)):
        roots = rows.weights.sqrt().to(rows.residual)
        jacobian = rows.jacobian * roots.unsqueeze(1)
        add_lower_gram(gram, jacobian)
        for number, place in enumerate(places):
            if place.start <= rows.rows.start < place.stop:
                kept.setdefault(number, []).append((rows.residual * roots, jacobian, roots))
    diagonal = gram.diagonal().clone()
    norms = diagonal.sqrt()
    scales = torch.where(norms > DEAD * norms.max(), norms.reciprocal(), 0.0)
    gram *= scales.unsqueeze(1)
    gram *= scales
    gram.diagonal().fill_(1.0)
    parts = (tuple(torch.cat(each) for each in zip(*kept[n], strict=True)) for n in sorted(kept))
    return Curvature(scales, gram, gram, list(_measured(blocks, parts))).damped(DAMPING)


def _places(objective: Objective, blocks: list[Block]) -> list[slice]:
    """Where the rows of each measured quantity stand among all."""
    found, first = [], 0
    for block in objective.blocks:
        each = block.rows // block.residuals
        if any(block is own for own in blocks):
            found += [slice(first + i * each, first + (i + 1) * each)
                      for i in range(block.residuals)]  # fmt: skip
        first += block.rows
    return found


def _measured(blocks: list[Block], parts: Iterator[tuple[Tensor, ...]]) -> Iterator[Measured]:
    """The rows of data by quantity, without those at which nothing was measured."""
    for block in blocks:
        targets = [key for key in block.extra if OF not in key and key != WEIGHTS]
        if len(targets) != block.residuals:
            targets = [str(i) for i in range(block.residuals)]
        for target in targets:
            residual, jacobian, roots = next(parts)
            factor = block.extra.get(FACTOR + target, torch.ones_like(residual))
            sigma = block.extra.get(NOISE + target)
            whole = roots * factor
            if WEIGHTS in block.extra:
                whole = whole * block.extra[WEIGHTS].sqrt()
            there = whole > 0
            name = block.name if len(targets) == 1 else f"{block.name}: {target}"
            yield Measured(
                name,
                residual[there],
                jacobian[there],
                None if sigma is None else (sigma * whole)[there],
                whole[there].reciprocal(),
            )
