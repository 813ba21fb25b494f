"""The error of a solution, estimated from its residuals alone."""

import math
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from pinnsig.model import Model
from pinnsig.networks import main_network
from pinnsig.networks.random_features import random_features
from pinnsig.objective import Objective
from pinnsig.optim.gauss_newton.linearization import add_lower_gram
from pinnsig.problem import INTERIOR
from pinnsig.run.judging.correction import (
    Basis,
    LinearModel,
    displacement,
    linearise,
)
from pinnsig.run.judging.points import by_residual, counts_like, independent_sites, moved, stream

TANGENTS = 1000  # parameters along which the solution is moved, at most
FEATURES = 800  # random features for all outputs together, at most, and no more than ...
SLOPES = (0.3, 30.0)  # of random features, in halves of an input's range
PER_POINT = 0.4  # ... this for each collocation point
POINTS = 4.0  # for each direction
CELLS = 5e8  # of all rows of the Jacobian
DAMPINGS = (1e-12, 1e-9, 1e-6, 1e-3, 1.0)
LEFT = 0.99  # share of the residual, left where it is not fitted, that is still believed
DEAD = 1e-10  # of the largest derivative: what has less is not moved


@dataclass(frozen=True)
class Estimate:
    """How far a solution is off.

    Attributes:
        relative_l2: |e| / |u + e| in the 2-norm over the domain and all fields.
        fields: the same for every field, and every unknown function.
        unexplained: share of the residual, at points that were not used, that the correction e
            does not remove.
        coefficients: the absolute error of every learned coefficient.
    """

    relative_l2: float
    fields: dict[str, float]
    unexplained: float
    coefficients: dict[str, float] = field(default_factory=dict)


def estimate_error(objective: Objective, seed: int) -> Estimate | None:
    """Return the error that the residuals at independent points tell of; None if they do not.

    The correction e is the least-squares solution of F'(u) e = -F(u) over all terms, each scaled by
    its own derivatives, in a space that holds the network's tangent space (or a random part of it),
    all that is learned beside it, and random features (Chen, Chi, E and Yang, J. Mach. Learn. 1
    (2022) 268). Its damping is chosen by the residual that is left at further points. What is left
    is taken to belong to an error of the same proportion.

    Args:
        objective: the loss, in float64, at the parameters that are judged; its parameters are the
            same afterwards, but other objectives of this model lose theirs.
        seed: of the run.
    """
    model, sites = objective.model, objective.sites
    problem = model.problem
    generator = stream(seed, "estimate")
    outputs, parameters = len(problem.outputs) - len(problem.functions()), len(objective.flat)
    inside = len(sites[INTERIOR].points)
    width = max(int(min(FEATURES, PER_POINT * inside) / outputs), 10)
    tangents = min(parameters, TANGENTS)
    count = int(POINTS * (tangents + outputs * (width + 1)))
    count = max(min(count, int(CELLS / parameters)), 200)
    pool = independent_sites(problem, sites, counts_like(sites, problem, 8 * count), seed, 1)
    points = pool[INTERIOR].points
    sizes = objective.residual_sizes(torch.as_tensor(points)).double().cpu().numpy()
    if not np.isfinite(sizes).all():
        return None
    basis = _basis(objective, torch.as_tensor(points[:1000]), tangents, width, generator)
    found = []
    for number, length in ((2, count), (3, count // 4)):
        drawn = independent_sites(problem, sites, counts_like(sites, problem, length), seed, number)
        chosen, importance = by_residual(points, sizes, length, generator)
        own = Objective(model, objective.engine_name, moved(drawn, chosen), checked=True)
        found.append(_scaled(linearise(own, basis), own, importance, objective))
    fit, test = _balanced(*found)
    size = float(test.residual.norm())
    if size == 0:
        certain = dict.fromkeys(model.start, 0.0)
        names = (*problem.fields, *problem.functions())
        return Estimate(0.0, dict.fromkeys(names, 0.0), 0.0, certain)
    left, direction = _best(fit, test)
    left /= size
    if not left < 1:
        return None
    uniform = torch.as_tensor(points[: max(count, 1000)])
    u, e = displacement(own, basis, uniform.to(own.flat.values), direction)
    grown = 1 / math.sqrt(1 - min(left, LEFT) ** 2)
    fields = {name: grown * _ratio(e[name], u[name] + e[name]) for name in e}
    off = torch.cat([e[name] for name in problem.fields])
    true = torch.cat([u[name] + e[name] for name in problem.fields])
    whole = grown * _ratio(off, true)
    learned = direction[len(basis.tangents) - len(model.start) : len(basis.tangents)]
    changes = _coefficient_changes(model, learned).items()
    return Estimate(whole, fields, left, {name: grown * change for name, change in changes})


def _coefficient_changes(model: Model, along: Tensor) -> dict[str, float]:
    """How far learned coefficients move, to first order, as their parameters move by `along`."""
    found = {}
    with torch.enable_grad():
        for (name, value), change in zip(model.coefficients().items(), along, strict=True):
            (slope,) = torch.autograd.grad(value, model.unknowns[name])
            found[name] = abs(float(slope * change))
    return found


def _ratio(e: Tensor, u: Tensor) -> float:
    return float(e.norm() / u.norm()) if float(u.norm()) > 0 else math.inf if e.any() else 0.0


def _basis(
    objective: Objective, points: Tensor, tangents: int, width: int, generator: np.random.Generator
) -> Basis:
    parameters = len(objective.flat)
    network = main_network(objective.model.network)
    own = sum(weight.numel() for weight in network.parameters())  # the first ones
    inputs = objective.model.inputs(points.to(objective.flat.values))
    some = np.sort(generator.choice(own, min(tangents, own), replace=False))
    chosen = np.concatenate([some, np.arange(own, parameters)])
    problem = objective.model.problem
    outputs = len(problem.outputs) - len(problem.functions())
    extra = random_features(inputs, outputs, width, SLOPES, generator)
    return Basis(torch.as_tensor(chosen).to(inputs.device), extra)


def _scaled(
    rows: LinearModel, own: Objective, importance: np.ndarray, objective: Objective
) -> LinearModel:
    """Every term's mean square as a sum of squares; terms that are not minimised are left out."""
    given = dict(zip(objective.term_names, objective.given_weights, strict=True))
    used = rows.residual.new_tensor([float(given[name] > 0) for name in own.term_names])
    factors = used / torch.bincount(rows.terms, minlength=len(used))
    weights = factors[rows.terms]
    at = torch.as_tensor(importance).to(weights)
    inside = own.interior.residuals
    weights[: inside * len(at)] *= at.repeat(inside)
    return rows.scaled(weights.sqrt())


def _balanced(fit: LinearModel, test: LinearModel) -> tuple[LinearModel, LinearModel]:
    """All terms with derivatives of one size."""
    count = int(fit.terms.max()) + 1
    sizes = fit.residual.new_zeros(count).index_add_(0, fit.terms, fit.jacobian.square().sum(1))
    factors = torch.where(sizes > 0, sizes, 1.0).rsqrt()
    return fit.scaled(factors[fit.terms]), test.scaled(factors[test.terms])


def _best(fit: LinearModel, test: LinearModel) -> tuple[float, Tensor]:
    """The correction, of all dampings, that leaves the least at the test's points."""
    norms = fit.jacobian.norm(dim=0)
    scale = torch.where(norms > DEAD * norms.max(), norms.reciprocal(), 0.0)
    unit = fit.jacobian * scale
    gram = add_lower_gram(unit.new_zeros(len(scale), len(scale)), unit)
    right = (unit.T @ fit.residual).neg_().unsqueeze(1)
    best, direction = math.inf, torch.zeros_like(scale)
    diagonal = gram.diagonal().clone()
    for damping in DAMPINGS:
        torch.add(diagonal, damping, out=gram.diagonal())
        lower, info = torch.linalg.cholesky_ex(gram)
        if int(info):
            continue
        found = scale * torch.cholesky_solve(right, lower).squeeze(1)
        left = float((test.residual + test.jacobian @ found).norm())
        if left < best:
            best, direction = left, found
    return best, direction
