"""Residuals and their derivatives in the parameters, point by point."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from pinnsig.errors import DerivativeError
from pinnsig.jacobian.tape import Tape
from pinnsig.jets import coordinate_jets, output_jets
from pinnsig.jets.engine import stack_inputs
from pinnsig.jets.fields import features_of, fields_of
from pinnsig.networks import FFNN
from pinnsig.objective import Block, Objective
from pinnsig.objective.workers import run_shares

# Stack elements (partials x points x width) carried at once: few enough to stay in a CPU's cache
CHUNK_ELEMENTS = {"cpu": 2**17}
CHUNK_ELEMENTS_ACCELERATOR = 2**24


@dataclass(frozen=True)
class Rows:
    """Some of the rows of one residual; over all of them, loss = sum of weight * residual^2.

    Attributes:
        term: the term of the loss that they belong to.
        rows: where they stand among all rows: blocks, their residuals, and points in order.
        residual: shape (M,).
        jacobian: shape (M, P), columns in the order of `objective.flat.values`.
        weight: the term's weight over the number of its points.
    """

    term: str
    rows: slice
    residual: Tensor
    jacobian: Tensor
    weight: float


def jacobian_blocks(objective: Objective, rows: int) -> Iterator[Rows]:
    """All rows of an objective at its present parameters, a bounded number at a time.

    Args:
        objective: what is differentiated; not to be moved before the last rows are there.
        rows: the most rows that are computed together; at least those of one point.

    Raises:
        DerivativeError: see `residual_jacobian`.
    """
    weights = dict(zip(objective.term_names, objective.weights.tolist(), strict=True))
    first = 0
    for block in objective.blocks:
        count, length = _residual_count(objective, block), len(block) // block.stride
        terms = block.terms if block.name == "residual" else block.terms * count
        step = max(rows // count, 1)
        for start in range(0, length, step):
            stop = min(start + step, length)
            span = slice(start * block.stride, stop * block.stride)
            found = (part.chunk(count) for part in residual_jacobian(objective, block, span))
            for i, (term, r, jacobian) in enumerate(zip(terms, *found, strict=True)):
                place = slice(first + i * length + start, first + i * length + stop)
                yield Rows(term, place, r, jacobian, weights[term] / length)
        first += count * length


def residual_jacobian(
    objective: Objective, block: Block, points: slice | None = None, out: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Residuals of a block at some of its points, and their derivatives in all parameters.

    A residual may depend on its own point alone (on its own pair, for `Periodic`). Threads share
    the points as in `Objective.evaluate`.

    Args:
        objective: holds the network and the unknown coefficients, at their present values.
        block: one of the objective's blocks.
        points: which of the block's points; None means all.
        out: where the Jacobian goes, shape (M, P), contiguous; None means fresh memory, which can
            cost as much as all the arithmetic.

    Returns:
        r, shape (M,), and J, shape (M, P), outside autograd. M is the number of residuals times
        the number of points over the block's stride: first one residual at all points, then the
        next. P goes through the network's parameters, then the unknowns', as
        `objective.flat.values` does.

    Raises:
        DerivativeError: a network that is not an FFNN, or points that tear pairs apart.
    """
    span = _checked_span(block, points)
    flat, count = objective.flat.values, _residual_count(objective, block)
    length = (span.stop - span.start) // block.stride
    residual = flat.new_empty(count, length)
    jacobian = flat.new_empty(count * length, len(flat)) if out is None else out
    shaped = jacobian.view(count, length, len(flat))
    filler = _Filler(objective, block)
    cpu = flat.device.type == "cpu"
    width = max(p.shape[0] for p in objective.flat.parameters if p.ndim)
    room = CHUNK_ELEMENTS.get(flat.device.type, CHUNK_ELEMENTS_ACCELERATOR)
    step = max(room // (len(block.plan) * width * block.stride), 16)
    starts = range(0, length, step)
    threads = min(torch.get_num_threads() if cpu else 1, len(starts)) or 1

    def work(share: int) -> None:
        for start in starts[share::threads]:
            rows = slice(start, min(start + step, length))
            at = slice(*(span.start + block.stride * edge for edge in (rows.start, rows.stop)))
            filler.fill(at, residual[:, rows], shaped[:, rows])

    run_shares(work, threads)
    objective.model.bind()
    return residual.flatten(), jacobian


class _Filler:
    """Fills the rows of one block, at the parameters as they are when it is made."""

    def __init__(self, objective: Objective, block: Block) -> None:
        model = objective.model
        if not isinstance(model.network, FFNN):
            raise DerivativeError(f"rows need an FFNN, not a {type(model.network).__name__}")
        self.network, self.problem, self.block = model.network, model.problem, block
        self.leaves, self.slopes = [], []
        for name, value in (coefficients := model.coefficients()).items():
            (slope,) = torch.autograd.grad(value, model.unknowns[name])
            self.slopes.append(slope)
            coefficients[name] = value.detach().requires_grad_()
        self.leaves = list(coefficients.values())
        self.problem.bind(coefficients)

    def fill(self, points: slice, residual: Tensor, jacobian: Tensor) -> None:
        """Write r, shape (residuals, M), and J, shape (residuals, M, P), at some points."""
        block, plan = self.block, self.block.plan
        extra = {key: column[points] for key, column in block.extra.items()}
        at = coordinate_jets(plan.coordinates, block.points[points])
        features = features_of(self.problem)
        with torch.enable_grad():  # features and residual may hold unknown coefficients
            jets = features(at) if features else list(at.values())
            inputs = torch.stack([stack_inputs([j.tensor(a) for j in jets]) for a in plan.alphas])
            tape = Tape(self.network, inputs.detach(), plan)
            table = tape.table.requires_grad_()
            fields = fields_of(self.problem, output_jets(table, plan), at)
            residuals = block.residual(fields, at, extra).values()
        moved = [_slope(inputs, leaf) for leaf in self.leaves]
        network = jacobian.shape[2] - len(self.leaves)
        for r, into, rows in zip(residuals, residual, jacobian, strict=True):
            into.copy_(r.detach())
            below = tape.write_rows(_cotangent(r, table), block.stride, rows[:, :network])
            for i, (leaf, slope) in enumerate(zip(self.leaves, self.slopes, strict=True)):
                direct = _slope(r, leaf)
                through = (below * moved[i]).sum((0, 2)).unflatten(0, (len(r), block.stride))
                rows[:, network + i] = slope * (direct + through.sum(1))


def _cotangent(residual: Tensor, table: Tensor) -> Tensor:
    """What each residual's own points mean to it: the sum's gradient in the table."""
    if not residual.requires_grad:
        return torch.zeros_like(table)
    (found,) = torch.autograd.grad(
        residual.sum(), table, retain_graph=True, allow_unused=True, materialize_grads=True
    )
    return found


def _slope(values: Tensor, leaf: Tensor) -> Tensor:
    """d values / d leaf for a leaf of shape (), in the shape of values.

    Reverse mode is linear in the cotangent it starts from, and its slope there is the forward
    mode's tangent; unlike torch's own forward mode this may run in several threads.
    """
    start = torch.ones_like(values, requires_grad=True)
    with torch.enable_grad():
        total = None
        if values.requires_grad:
            (total,) = torch.autograd.grad(
                values, leaf, start, create_graph=True, allow_unused=True
            )
        if total is None or not total.requires_grad:
            return torch.zeros_like(values)
        (found,) = torch.autograd.grad(total, start, allow_unused=True, materialize_grads=True)
    return found


def _residual_count(objective: Objective, block: Block) -> int:
    """How many residuals the block has, as few points tell."""
    model, few = objective.model, slice(0, block.stride)
    model.bind()
    extra = {key: column[few] for key, column in block.extra.items()}
    with torch.no_grad():
        fields, at = model.fields(objective.engine, block.points[few], block.plan)
        return len(block.residual(fields, at, extra))


def _checked_span(block: Block, points: slice | None) -> slice:
    start, stop, step = (points or slice(None)).indices(len(block))
    stop = max(start, stop)
    if step != 1 or start % block.stride or stop % block.stride:
        raise DerivativeError(
            f"points {start}:{stop}:{step} of {block.name!r} cannot be: they come one by one, "
            f"whole groups of {block.stride}"
        )
    return slice(start, stop)
