"""Losses, gradients, Jacobians and predictions of small models, and some wrong shapes.

In a process of its own, in which `tests.shapes` is imported first: see `test_types`.
"""

import os
from typing import Any

import torch
from jaxtyping import TypeCheckError
from torch import nn

from pinnsig.derivatives.inputs import coordinate_jets
from pinnsig.model import Model
from pinnsig.model.evaluation import compare
from pinnsig.objective import Objective, Weights
from pinnsig.objective.batch import Batch
from pinnsig.objective.rows.least_squares import LeastSquares
from pinnsig.problem import Box
from pinnsig.run.building import build, build_objective
from pinnsig.run.settings import resolve

SMALL = {"depth": 2, "width": 6, "collocation": 30, "initial": 8, "boundary": 8}


def evaluate_all() -> None:
    """Go through networks of every kind, by C and by torch's operations."""
    for compiled, dtype in (("1", "float32"), ("0", "float64")):  # each is looked up once per type
        os.environ["PINNSIG_COMPILE"] = compiled
        members = [made("burgers", dtype=dtype, seed=seed) for seed in (0, 1)]
        Batch(members).evaluate([member.weights for member in members])
        compare(members[0].model)
        for objective in (
            members[0],
            made("kdv", dtype=dtype, network="resnet"),  # a condition on pairs of points
            made("inverse-heat", dtype=dtype),  # a coefficient that is learned, measured values
            made("kovasznay", dtype=dtype, engine="nested"),  # several fields
            with_softmax(members[0]),  # rows with weights for each point
        ):
            evaluate(objective)


def made(problem: str, **flags: Any) -> Objective:
    """A small objective."""
    return build_objective(build(resolve({**SMALL, "problem": problem, **flags})))


def with_softmax(like: Objective) -> Objective:
    """The same through a network that no operations describe."""
    problem, sites, values = like.model.problem, like.sites, like.flat.values
    sizes = problem.domain.dimensions, len(problem.outputs)
    network = nn.Sequential(nn.Linear(sizes[0], 6), nn.Softmax(dim=1), nn.Linear(6, sizes[1]))
    return Objective(Model(problem, network.to(values)), "nested", sites)


def evaluate(objective: Objective) -> None:
    """Ask for all that there is, with points of equal weight and without."""
    points = objective.interior.points
    ones = points.new_ones(len(points))
    for weights in (objective.weights, Weights(objective.weights.terms, ones)):
        objective.evaluate(weights)
        objective.losses(weights)
        squares = LeastSquares(objective, weights)
        squares.pullback(squares.residuals())
        assert sum(len(residual) for _, residual, _ in squares.blocks(100)) == squares.count
    objective.residual_sizes(points)
    objective.term_gradients()
    objective.model(points)


def refusals() -> int:
    """How many of three wrong shapes are noticed."""
    box, noticed = Box(x=(0.0, 1.0), t=(0.0, 1.0)), 0
    for wrong in (
        lambda: box.contains(box.lower),
        lambda: coordinate_jets(("x",), torch.zeros(3)),
        lambda: Weights(torch.ones(3), torch.ones(2, 1)),
    ):
        try:
            wrong()
        except TypeCheckError:
            noticed += 1
    return noticed
