"""Linear corrections of a solution: directions it can be moved in, and what its residuals do."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from pinnsig.derivatives import Plan, input_partials
from pinnsig.derivatives.taylor import make_tape
from pinnsig.model.fields import features_of, fields_from, trace_partials
from pinnsig.networks import FFNN
from pinnsig.objective import Block, BoundTerms, Objective
from pinnsig.objective.rows import residual_jacobian, row_terms
from pinnsig.problem import Problem

CELLS = 2**23  # of rows at once
STEP = 1e-3  # of what is moved, for differences of fields


@dataclass(frozen=True)
class Basis:
    """Directions in which a solution can be moved.

    Attributes:
        tangents: which of the parameters, shape (T,): fields move by their derivatives in them.
        features: random features, added to the raw outputs that fields are made of.
    """

    tangents: Tensor
    features: FFNN


@dataclass(frozen=True)
class LinearModel:
    """Residuals of all terms, and their derivatives along a basis.

    Attributes:
        residual: shape (N,).
        jacobian: shape (N, B): along the tangents, then along the features' output weights.
        terms: the number of each row's term, shape (N,).
    """

    residual: Tensor
    jacobian: Tensor
    terms: Tensor

    def scaled(self, factors: Tensor) -> "LinearModel":
        """Return the same with every row multiplied, by factors of shape (N,)."""
        jacobian = self.jacobian * factors.unsqueeze(1)
        return LinearModel(self.residual * factors, jacobian, self.terms)


def linearise(objective: Objective, basis: Basis) -> LinearModel:
    """Return the residuals at an objective's points, with their derivatives along a basis."""
    width = len(objective.flat) + sum(weight.numel() for weight in basis.features.weights)
    blocks: list[tuple[Tensor, Tensor]] = []
    for block in objective.blocks:
        step = max(CELLS // (block.residuals * width), 1) * block.stride
        parts: list[tuple[Tensor, Tensor]] = []
        for start in range(0, len(block), step):
            span = slice(start, min(start + step, len(block)))
            residual, rows = residual_jacobian(objective, block, span)
            beside = _feature_rows(objective, block, span, basis.features)
            rows = torch.cat([rows[:, basis.tangents], beside], dim=1)
            shape = block.residuals, -1
            parts.append((residual.view(shape), rows.view(*shape, rows.shape[1])))
        residuals, jacobians = zip(*parts, strict=True)
        blocks.append((torch.cat(residuals, 1).flatten(), torch.cat(jacobians, 1).flatten(0, 1)))
    residual, rows = (torch.cat(part) for part in zip(*blocks, strict=True))
    return LinearModel(residual, rows, row_terms(objective).to(residual.device))


def _feature_rows(objective: Objective, block: Block, span: slice, features: FFNN) -> Tensor:
    """The derivatives in the features' output weights and biases, shape (rows, their number)."""
    bound, plan, points = BoundTerms.of(objective.model.bound()), block.plan, block.points[span]
    given = {key: column[span] for key, column in block.extra.items()}
    inputs = input_partials(features_of(bound.problem), points, plan)
    with torch.no_grad():
        table = _table(objective, bound.problem, points, plan)
    with torch.enable_grad():
        table.requires_grad_()
        fields, at = fields_from(bound.problem, table, points, plan)
        residuals = list(bound.residuals[block.name](fields, at, given).values())
    weights = [weight.detach() for weight in features.weights]
    tape = make_tape(features.activation, plan, inputs, weights)
    tape.forward()
    last = sum(weight.numel() for weight in weights[-2:])
    outputs = len(features.output.bias)
    rows = table.new_zeros(len(residuals[0]), sum(weight.numel() for weight in weights))
    found = []
    for residual in residuals:
        cotangent = torch.zeros_like(table)
        if residual.requires_grad:
            (cotangent,) = torch.autograd.grad(residual.sum(), table, retain_graph=True)
        tape.write_rows(cotangent[..., :outputs].contiguous(), block.stride, rows)
        found.append(rows[:, -last:].clone())
    return torch.cat(found)


@torch.no_grad()
def _table(objective: Objective, problem: Problem, points: Tensor, plan: Plan) -> Tensor:
    network, features = objective.model.network, features_of(problem)
    return objective.engine.partials(network, features, points, plan).clone()


@torch.no_grad()
def displacement(
    objective: Objective, basis: Basis, points: Tensor, direction: Tensor
) -> tuple[Mapping[str, Tensor], Mapping[str, Tensor]]:
    """Return the fields at points, and their first-order change along a direction.

    Args:
        objective: whose model; its parameters are moved, and put back.
        basis: what the direction is made of.
        points: shape (N, dimensions).
        direction: shape (B,).

    Returns:
        Both by field, each of shape (N,).
    """
    model, flat = objective.model, objective.flat
    along, weights = direction.split([len(basis.tangents), len(direction) - len(basis.tangents)])
    # an ansatz may read partials of the outputs, as one that takes a stream function does
    plan, _ = trace_partials(
        model.bound(), lambda fields, _: [jet.value for jet in fields.values()], points[:2]
    )
    inputs = input_partials(features_of(model.bound()), points, plan)
    last = basis.features.linears[-1]
    own = [*basis.features.weights[:2], *weights.split([last.weight.numel(), last.bias.numel()])]
    own[2] = own[2].view_as(last.weight)
    tape = make_tape(basis.features.activation, plan, inputs, [w.detach() for w in own], keep=False)
    beside = tape.forward().clone()
    functions = len(model.problem.functions())
    beside = torch.nn.functional.pad(beside, (0, functions))  # they see coordinates of their own

    def fields(of_tangents: float, of_features: float) -> dict[str, Tensor]:
        before = flat.copy()
        flat.values[basis.tangents] += of_tangents * along
        bound = model.bound()
        table = _table(objective, bound, points, plan) + of_features * beside
        found, _ = fields_from(bound, table, points, plan)
        flat.restore(before)
        return {name: jet.value.clone() for name, jet in found.items()}

    at = fields(0.0, 0.0)
    change = {name: torch.zeros_like(value) for name, value in at.items()}
    size = float(_table(objective, model.bound(), points, plan).norm())
    for which, moved, whole in ((0, along, float(flat.values.norm())), (1, beside, size)):
        length = float(moved.norm())
        if not length > 0:
            continue
        step = min(STEP * whole / length, 1.0) or 1.0
        up, down = (fields(*(h, 0.0)[:: 1 - 2 * which]) for h in (step, -step))
        for name in change:
            change[name] += (up[name] - down[name]) / (2 * step)
    return at, change
