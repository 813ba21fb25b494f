"""A linear correction of a solution: what would bring its residuals to zero, to first order."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pinnsig.activations import tanh
from pinnsig.jacobian import residual_jacobian
from pinnsig.jets import features_of, fields_from, input_partials
from pinnsig.jets.plan import Plan
from pinnsig.jets.taylor import make_tape
from pinnsig.networks import FFNN
from pinnsig.objective import Block, BoundTerms, Objective

STEEPEST = 30.0  # slope of a random feature, in halves of an input's range
BLOCK_CELLS = 2**23  # of rows at once


def random_features(inputs: Tensor, outputs: int, count: int, seed: np.random.Generator) -> FFNN:
    """Return a network of one hidden layer, tanh ridges at random places, whose output is zero.

    Args:
        inputs: of the network, at points that fill the domain, shape (N, inputs).
        outputs: of the network.
        count: hidden units.
        seed: of the ridges.
    """
    low, high = inputs.min(0).values.cpu().numpy(), inputs.max(0).values.cpu().numpy()
    middle, half = (low + high) / 2, np.maximum((high - low) / 2, 1e-300)
    directions = seed.standard_normal((count, len(low)))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    slopes = np.exp(seed.uniform(np.log(0.3), np.log(STEEPEST), (count, 1))) * directions
    places = seed.uniform(-1.0, 1.0, (count, len(low)))
    network = FFNN(len(low), outputs, 1, count, tanh, inputs.dtype, inputs.device)
    hidden, last = network.linears
    with torch.no_grad():
        hidden.weight.copy_(torch.as_tensor(slopes / half))
        bias = -(slopes * places).sum(1) - (slopes * (middle / half)).sum(1)
        hidden.bias.copy_(torch.as_tensor(bias))
        last.weight.zero_()
        last.bias.zero_()
    return network


@dataclass(frozen=True)
class Basis:
    """Directions in which a solution can be moved.

    Attributes:
        tangents: which of the parameters, shape (T,): fields move by their derivatives in them.
        extra: random features, added to the raw outputs of the network.
    """

    tangents: Tensor
    extra: FFNN


@dataclass(frozen=True)
class Rows:
    """Residuals of all terms, and their derivatives along a basis.

    Attributes:
        residual: shape (N,).
        jacobian: shape (N, B).
        terms: the number of each row's term, shape (N,).
    """

    residual: Tensor
    jacobian: Tensor
    terms: Tensor

    def scaled(self, factors: Tensor) -> "Rows":
        """Return the same with every row multiplied, by factors of shape (N,)."""
        jacobian = self.jacobian * factors.unsqueeze(1)
        return Rows(self.residual * factors, jacobian, self.terms)


def linearise(objective: Objective, basis: Basis) -> Rows:
    """Return the residuals of an objective, with their derivatives along a basis."""
    names = list(objective.term_names)
    parts: list[tuple[Tensor, Tensor]] = []
    terms: list[int] = []
    extra = sum(weight.numel() for weight in basis.extra.weights)
    for block in objective.blocks:
        cells = block.residuals * (len(objective.flat) + extra)
        step = max(BLOCK_CELLS // cells, 1) * block.stride
        own = block.terms if block.name == "residual" else block.terms * block.residuals
        found: list[tuple[Tensor, Tensor]] = []
        for start in range(0, len(block), step):
            span = slice(start, min(start + step, len(block)))
            residual, tangents = residual_jacobian(objective, block, span)
            beside = _extra_rows(objective, block, span, basis.extra)
            rows = torch.cat([tangents[:, basis.tangents], beside], dim=1)
            found.append((residual.view(block.residuals, -1), rows.view(block.residuals, -1, rows.shape[1])))
        residual, rows = (torch.cat(part, dim=1).flatten(0, 1) for part in zip(*found, strict=True))
        parts.append((residual, rows))
        terms += [names.index(term) for term in own for _ in range(len(block) // block.stride)]
    residual, rows = (torch.cat(part) for part in zip(*parts, strict=True))
    return Rows(residual, rows, torch.tensor(terms, device=residual.device))


def _extra_rows(objective: Objective, block: Block, span: slice, extra: FFNN) -> Tensor:
    model, plan = objective.model, block.plan
    bound = BoundTerms.of(model.bound())
    points = block.points[span]
    columns = {key: column[span] for key, column in block.extra.items()}
    inputs = input_partials(features_of(bound.problem), points, plan).detach()
    network = model.network
    with torch.no_grad():
        table = make_tape(network.activation, plan, inputs, [w.detach() for w in network.weights], False).forward()
    with torch.enable_grad():
        table = table.requires_grad_()
        fields, at = fields_from(bound.problem, table, points, plan)
        residuals = list(bound.residuals[block.name](fields, at, columns).values())
    weights = [w.detach() for w in extra.weights]
    tape = make_tape(extra.activation, plan, inputs, weights)
    tape.forward()
    size, last = sum(w.numel() for w in weights), sum(w.numel() for w in weights[-2:])
    found = []
    for r in residuals:
        cot = torch.zeros_like(table)
        if r.requires_grad:
            (cot,) = torch.autograd.grad(r.sum(), table, retain_graph=True, allow_unused=True, materialize_grads=True)
        rows = table.new_zeros(len(r), size)
        tape.write_rows(cot, block.stride, rows)
        found.append(rows[:, size - last :].clone())
    return torch.cat(found)


@torch.no_grad()
def moved_fields(objective: Objective, basis: Basis, points: Tensor, d: Tensor, h: float) -> dict[str, Tensor]:
    """Fields at points, with the solution moved by h d."""
    flat, model = objective.flat, objective.model
    before = flat.copy()
    try:
        flat.values[basis.tangents] += h * d[: len(basis.tangents)]
        problem = model.bound()
        plan = Plan.closing(problem.domain.names, [])
        inputs = input_partials(features_of(problem), points, plan)
        table = make_tape(model.network.activation, plan, inputs, model.network.weights, False).forward()
        weights = [w.detach() for w in basis.extra.weights]
        own = h * d[len(basis.tangents) :]
        last = weights[-2].numel()
        weights[-2], weights[-1] = own[:last].view_as(weights[-2]), own[last:]
        table = table + make_tape(basis.extra.activation, plan, inputs, weights, False).forward()
        fields, _ = fields_from(problem, table, points, plan)
        return {name: jet.value.clone() for name, jet in fields.items()}
    finally:
        flat.restore(before)
