"""The rows of one block: cotangents of its residuals, carried back through the network."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from pinnsig.core.types import ResidualJacobians, ResidualValues
from pinnsig.derivatives import input_partials
from pinnsig.model.fields import features_of, fields_from
from pinnsig.objective import Block, BoundTerms, Objective
from pinnsig.objective.rows.per_point import partials_per_point


class RowFiller(ABC):
    """Fills the rows of one block, at the parameters as they are when it is made."""

    def __init__(self, objective: Objective, block: Block) -> None:
        model = objective.model
        self.network, self.engine, self.block = model.network, objective.engine, block
        coefficients = model.coefficients()
        # autograd stops at these; how each depends on its own parameter is one number
        leaves = {name: value.detach().requires_grad_() for name, value in coefficients.items()}
        self.leaves = list(leaves.values())
        self.slopes = [
            torch.autograd.grad(value, model.unknowns[name])[0]
            for name, value in coefficients.items()
        ]
        bound = BoundTerms.of(model.problem.bound(leaves))
        self.problem, self.residual = bound.problem, bound.residuals[block.name]

    @abstractmethod
    def fill(self, points: slice, residual: ResidualValues, jacobian: ResidualJacobians) -> None:
        """Write the residuals r at some points, and their Jacobian J."""


def row_filler(objective: Objective, block: Block) -> RowFiller:
    """Return what fills the rows of a block, as its network can be carried."""
    if objective.engine.tape_refusal(objective.model.network, block.plan) is None:
        return TapedRows(objective, block)
    return RowsPerPoint(objective, block)


class TapedRows(RowFiller):
    """Rows by the tape of an engine, which gives them for the price of one way back."""

    def fill(self, points: slice, residual: ResidualValues, jacobian: ResidualJacobians) -> None:
        """See `RowFiller.fill`."""
        block, plan = self.block, self.block.plan
        extra = {key: column[points] for key, column in block.extra.items()}
        features = features_of(self.problem)
        with torch.enable_grad():  # features and residual may hold unknown coefficients
            inputs = input_partials(features, block.points[points], plan)
            tape = self.engine.tape(self.network, plan, inputs.detach())
            table = tape.forward().requires_grad_()
            fields, at = fields_from(self.problem, table, block.points[points], plan)
            residuals = self.residual(fields, at, extra).values()
        moved = [_slope(inputs, leaf) for leaf in self.leaves]
        network = jacobian.shape[2] - len(self.leaves)
        for r, into, rows in zip(residuals, residual, jacobian, strict=True):
            into.copy_(r.detach())
            below = tape.write_rows(_cotangent(r, table), block.stride, rows[:, :network])
            for i, (leaf, slope) in enumerate(zip(self.leaves, self.slopes, strict=True)):
                direct = _slope(r, leaf)
                through = (below * moved[i]).sum((0, 2)).unflatten(0, (len(r), block.stride))
                rows[:, network + i] = slope * (direct + through.sum(1))


class RowsPerPoint(RowFiller):
    """Rows through any network, by nested autograd with weights for each point."""

    def fill(self, points: slice, residual: ResidualValues, jacobian: ResidualJacobians) -> None:
        """See `RowFiller.fill`."""
        block, plan, at = self.block, self.block.plan, self.block.points[points]
        extra = {key: column[points] for key, column in block.extra.items()}
        with torch.enable_grad():
            features = features_of(self.problem)
            table, copies = partials_per_point(self.network, features, at, plan, block.stride)
            fields, coordinates = fields_from(self.problem, table, at, plan)
            residuals = self.residual(fields, coordinates, extra).values()
        network = copies.shape[1]
        for r, into, rows in zip(residuals, residual, jacobian, strict=True):
            into.copy_(r.detach())
            rows[:, :network] = _cotangent(r, copies)
            for i, (leaf, slope) in enumerate(zip(self.leaves, self.slopes, strict=True)):
                rows[:, network + i] = slope * _slope(r, leaf)


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
