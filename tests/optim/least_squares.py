"""Answers to an optimiser's requests from residuals in closed form, and from a small PINN."""

import math

import torch

from pinnsig.objective.rows import LeastSquares as Squares
from pinnsig.optim import Gradient, Jacobian, Layout, Loss, Measured, Pullback, Residuals, drive
from pinnsig.training.answers import Answers, Best, evaluate_alone


class HeldRows:
    """Rows of a J that is there, handed out in blocks."""

    def __init__(self, r, jacobian):
        self.r, self.jacobian = r, jacobian
        self.count = len(r)

    def blocks(self, most, out=None):
        for start in range(0, self.count, most):
            at = slice(start, min(start + most, self.count))
            part = self.jacobian[at]
            if out is not None:
                part = out[: len(part)].copy_(part)
            yield at, self.r[at], part


class LeastSquares:
    """loss = |r(theta)|^2 for a function of a vector; counts what it is asked for."""

    def __init__(self, residuals, start, most=math.inf, dtype=torch.float64):
        self.theta = torch.tensor(start, dtype=dtype)
        self.residuals, self.most = residuals, most
        self.calls = []

    @property
    def layout(self):
        count = len(self.residuals(self.theta))
        return Layout((self.theta.shape,), count, self.theta.dtype, self.theta.device)

    def jacobian(self):
        return torch.func.jacrev(self.residuals)(self.theta)

    def __call__(self, request):
        if len(self.calls) >= self.most:
            return None
        self.calls.append(type(request))
        r = self.residuals(self.theta)
        loss = float(r @ r)
        match request:
            case Loss():
                return Measured(loss, terms=(loss,))
            case Gradient():
                return Measured(loss, gradient=2 * self.jacobian().T @ r, terms=(loss,))
            case Residuals():
                return r
            case Pullback(cotangent):
                return self.jacobian().T @ cotangent
            case Jacobian():
                return HeldRows(r, self.jacobian())


class Pinn:
    """The same of an objective, answered as a trainer answers."""

    def __init__(self, objective, most=math.inf):
        self.use(objective)
        self.most = most
        self.calls = 0

    def use(self, objective):
        self.objective, self.theta = objective, objective.flat.values
        self.answers = Answers(objective, Best(objective))

    @property
    def layout(self):
        return self.answers.layout()

    def blocks(self, most, out=None):
        return Squares(self.objective).blocks(most, out)

    def residuals(self):
        return Squares(self.objective).residuals()

    def __call__(self, request):
        if self.calls >= self.most:
            return None
        self.calls += 1
        return drive(self.answers.answer(request), evaluate_alone)
