"""Residuals and their derivatives in the parameters, point by point."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from pinnsig.core.errors import DerivativeError
from pinnsig.core.threads import run_jobs
from pinnsig.core.types import Jacobian, RowValues
from pinnsig.objective import Block, Objective, Weights
from pinnsig.objective.rows.filling import row_filler

# Stack elements (partials x points x width) carried at once: few enough to stay in a CPU's cache
CHUNK_ELEMENTS = {"cpu": 2**17}
CHUNK_ELEMENTS_ACCELERATOR = 2**24


@dataclass(frozen=True)
class Rows:
    """Some of the rows of one residual; over all of them, loss = sum of weights * residual^2.

    Attributes:
        term: the term of the loss that they belong to.
        rows: where they stand among all rows: blocks, their residuals, and points in order.
        residual: its values.
        jacobian: their gradients, columns in the order of `objective.flat.values`.
        weights: factors on the squared residuals: the term's over the number of its points, times
            the square of the point's.
    """

    term: str
    rows: slice
    residual: RowValues
    jacobian: Jacobian
    weights: RowValues


def jacobian_blocks(
    objective: Objective,
    rows: int,
    out: Jacobian | None = None,
    weights: Weights | None = None,
    sample: int | None = None,
) -> Iterator[Rows]:
    """All rows of an objective at its present parameters, a bounded number at a time.

    Args:
        objective: what is differentiated; not to be moved before the last rows are there.
        rows: the most rows that are computed together; at least those of one point.
        out: memory for that many rows, contiguous, which is then written over and over: rows are
            to be used up before the next ones are asked for. None means fresh memory for each,
            which can cost as much as all the arithmetic.
        weights: what is minimised has; None for the objective's own.
        sample: about so many points of each block, in runs spread over it; None for all.

    Raises:
        DerivativeError: see `residual_jacobian`.
    """
    weights = weights or objective.weights
    factors = dict(zip(objective.term_names, weights.terms.tolist(), strict=True))
    first = 0
    for block in objective.blocks:
        count, length = block.residuals, len(block) // block.stride
        of_points = objective.flat.values.new_ones(length)
        if weights.points is not None and block.is_interior:
            of_points = weights.points.square()
        step = max(rows // count, 1)
        apart = 1 if sample is None else math.ceil(length / sample)
        for start in range(0, length, step * apart):
            stop = min(start + step, length)
            span = slice(start * block.stride, stop * block.stride)
            into = None if out is None else out[: count * (stop - start)]
            found = (part.chunk(count) for part in residual_jacobian(objective, block, span, into))
            for i, (term, r, jacobian) in enumerate(zip(block.residual_terms, *found, strict=True)):
                place = slice(first + i * length + start, first + i * length + stop)
                scale = factors[term] / block.groups * of_points[start:stop]
                yield Rows(term, place, r, jacobian, scale)
        first += count * length


def row_squares(objective: Objective, rows: int, sample: int | None = None) -> Tensor:
    """Return sums of squares of the entries of each term's rows, and how many rows there were.

    Rows that count for nothing are left out.

    Args:
        objective, rows, sample: see `jacobian_blocks`.

    Returns:
        Shape (2, terms), in float64 on the host.
    """
    index = {name: i for i, name in enumerate(objective.term_names)}
    found = torch.zeros(2, len(index), dtype=torch.float64)
    for own in jacobian_blocks(objective, rows, sample=sample):
        i = index[own.term]
        found[0, i] += own.jacobian.square().sum(dtype=objective.weights.terms.dtype).cpu()
        found[1, i] += len(own.residual)
    counted = [math.isfinite(block.groups) for block in objective.blocks for _ in block.terms]
    return found * torch.tensor(counted)


def residual_jacobian(
    objective: Objective, block: Block, points: slice | None = None, out: Jacobian | None = None
) -> tuple[RowValues, Jacobian]:
    """Residuals of a block at some of its points, and their derivatives in all parameters.

    A residual may depend on its own point alone (on its own pair, for `Periodic`). Threads share
    the points as in `Objective.evaluate`.

    Args:
        objective: holds the network and the unknown coefficients, at their present values.
        block: one of the objective's blocks.
        points: which of the block's points; None means all.
        out: where the Jacobian goes, contiguous; None means fresh memory.

    Returns:
        r and J, outside autograd. There are as many rows as residuals times points over the block's
        stride: first one residual at all points, then the next. Columns go through the network's
        parameters, then the unknowns', as `objective.flat.values` does.

    Raises:
        DerivativeError: points that tear pairs apart, an `out` of another shape, or a network
            that rows cannot be had of.
    """
    span = _checked_span(block, points)
    flat, count = objective.flat.values, block.residuals
    length = (span.stop - span.start) // block.stride
    residual = flat.new_empty(count, length)
    shape = count * length, len(flat)
    if out is not None and (out.shape != shape or not out.is_contiguous()):
        raise DerivativeError(f"out must be contiguous and have shape {shape}, not {(*out.shape,)}")
    jacobian = flat.new_empty(shape) if out is None else out
    shaped = jacobian.view(count, length, len(flat))
    filler = row_filler(objective, block)
    cpu = flat.device.type == "cpu"
    width = max(p.shape[0] for p in objective.flat.parameters if p.ndim)
    room = CHUNK_ELEMENTS.get(flat.device.type, CHUNK_ELEMENTS_ACCELERATOR)
    step = max(room // (len(block.plan) * width * block.stride), 16 // block.stride, 1)
    starts = range(0, length, step)

    def work(job: int) -> None:
        rows = slice(starts[job], min(starts[job] + step, length))
        at = slice(*(span.start + block.stride * edge for edge in (rows.start, rows.stop)))
        filler.fill(at, residual[:, rows], shaped[:, rows])

    run_jobs(work, len(starts), torch.get_num_threads() if cpu else 1)
    return residual.flatten(), jacobian


def row_terms(objective: Objective) -> Tensor:
    """Return the number of each row's term, shape (rows,), for the rows of all blocks in order."""
    index = {name: i for i, name in enumerate(objective.term_names)}
    blocks = objective.blocks
    return torch.tensor([
        index[term]
        for block in blocks
        for term in block.residual_terms
        for _ in range(len(block) // block.stride)
    ])  # fmt: skip


def _checked_span(block: Block, points: slice | None) -> slice:
    start, stop, step = (points or slice(None)).indices(len(block))
    stop = max(start, stop)
    if step != 1 or start % block.stride or stop % block.stride:
        raise DerivativeError(
            f"points {start}:{stop}:{step} of {block.name!r} cannot be: they come one by one, "
            f"whole groups of {block.stride}"
        )
    return slice(start, stop)
