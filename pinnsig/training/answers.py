"""What an optimiser asks for, answered from the objective as it stands."""

import math
from collections.abc import Generator
from typing import Any

import torch
from torch import Tensor

from pinnsig.objective import Evaluation, Objective, Weights
from pinnsig.objective.distributed import DealtObjective, DealtRows, least_squares
from pinnsig.optim import (
    Gradient,
    Jacobian,
    Layout,
    Loss,
    Measured,
    Pullback,
    Request,
    Residuals,
    Step,
    Steps,
)
from pinnsig.training.limits import Budget
from pinnsig.training.shared_jacobian import SharedJacobian

EvaluationRequest = tuple[Objective, Weights]
"""A loss and gradient that is wanted: whoever drives the training evaluates it, perhaps together
with those of other runs."""

Evaluating = Generator[EvaluationRequest, Evaluation, Any]


def evaluate_alone(asked: EvaluationRequest) -> Evaluation:
    """Return the evaluation that is asked for, by itself."""
    objective, weights = asked
    return objective.evaluate(weights)


class Best:
    """The parameters of the lowest loss so far.

    Attributes:
        loss: with the weights that the user gave.
        terms: mean squares without weights.
        values: the parameters, shape (P,).
    """

    def __init__(self, objective: Objective) -> None:
        self.loss = math.inf
        self.terms = [math.nan] * len(objective.term_names)
        self.values = objective.flat.copy()

    def note(self, objective: Objective, terms: list[float]) -> None:
        """Keep the present parameters if their loss is the lowest."""
        loss = given_loss(objective, terms)
        if -math.inf < loss < self.loss:
            self.loss, self.terms = loss, terms
            self.values.copy_(objective.flat.values)

    def reassess(self, objective: Objective) -> None:
        """Meet another objective: the loss of the best parameters at its points and precision."""
        self.values = self.values.to(objective.flat.values)
        present = objective.flat.copy()
        objective.flat.restore(self.values)
        self.terms = objective.losses().terms.tolist()
        loss = given_loss(objective, self.terms)
        self.loss = loss if math.isfinite(loss) else math.inf  # any finite one is better
        objective.flat.restore(present)


def given_loss(objective: Objective, terms: list[float]) -> float:
    """Return the loss with the weights that the user gave, which no scheme changes."""
    pairs = zip(objective.given_weights, terms, strict=True)
    return sum(weight * term for weight, term in pairs)


class Answers:
    """Answers the requests of one optimiser's iterations.

    Args:
        objective: what is minimised.
        best: told of every loss.

    Attributes:
        weights: with which it is minimised.
        sizes: of the residuals at the collocation points at the last evaluation that weighted them.
        budget: what is left.
        whole: whether what is minimised is all of the loss, whose lowest value counts.
    """

    def __init__(self, objective: Objective, best: Best) -> None:
        self.objective, self.best = objective, best
        self.weights = objective.weights
        self.sizes: Tensor | None = None
        self.budget = Budget()
        self.whole = True

    def layout(self, dtype: torch.dtype | None = None) -> Layout:
        """Return the size of the task, in the precision of a phase."""
        values = self.objective.flat.values
        objective = self.objective
        shares = objective.ranks.size if isinstance(objective, DealtObjective) else 1
        shapes = tuple(parameter.shape for parameter in self.objective.flat.parameters)
        return Layout(shapes, self.objective.rows, dtype or values.dtype, values.device, shares)

    def iterate(self, steps: Steps) -> Generator[EvaluationRequest, Evaluation, Step]:
        """Drive one iteration of an optimiser to its end."""
        reply: Any = None
        while True:
            try:
                request = steps.send(reply)
            except StopIteration as end:
                return end.value
            reply = yield from self.answer(request)

    def answer(self, request: Request) -> Evaluating:
        """Answer one request; None where a limit forbids it."""
        if not self.budget.allowed():
            return None
        self.budget.evaluations -= 1
        if isinstance(request, Gradient):
            evaluation = yield self.objective, self.weights
            self.sizes = evaluation.sizes
            return self.measured(evaluation, request.along)
        self.objective.evaluations += 1
        if isinstance(request, Loss):
            return self.measured(self.objective.losses(self.weights))
        squares = least_squares(self.objective, self.weights)
        if isinstance(request, Residuals):
            return squares.residuals()
        if isinstance(request, Pullback):
            return squares.pullback(request.cotangent)
        assert isinstance(request, Jacobian)
        return SharedJacobian(squares) if isinstance(squares, DealtRows) else squares

    def measured(self, evaluation: Evaluation, along: Tensor | None = None) -> Measured:
        """Return loss, slope and terms on the host, fetched in one transfer, and the gradient."""
        gradient = self.objective.flat.gradient
        loss = evaluation.loss.reshape(1)
        slope = loss.new_zeros(1) if along is None else (along @ gradient).to(loss)
        value, slope_along, *terms = torch.cat([loss, slope.reshape(1), evaluation.terms]).tolist()
        if self.whole:
            self.best.note(self.objective, terms)
        return Measured(value, slope_along, gradient, tuple(terms))
