"""Answers to an optimiser's requests from residuals in closed form, and from a small PINN."""

import math

import torch

from pinnsig.jacobian import jacobian_blocks
from pinnsig.optim import Gradient, Jacobian, Layout, Loss, Measured, Pullback, Residuals


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
    """The same of an objective."""

    def __init__(self, objective, most=math.inf):
        self.use(objective)
        self.most = most
        self.calls = 0

    def use(self, objective):
        self.objective, self.theta = objective, objective.flat.values
        self.count = sum(len(rows.residual) for rows in jacobian_blocks(objective, 10**9))

    @property
    def layout(self):
        return Layout((self.theta.shape,), self.count, self.theta.dtype, self.theta.device)

    def blocks(self, most, out=None):
        for rows in jacobian_blocks(self.objective, most, out):
            root = math.sqrt(rows.weight)
            yield rows.rows, rows.residual * root, rows.jacobian.mul_(root)

    def residuals(self):
        made, parts = self.objective, []
        weights = dict(zip(made.term_names, made.weights.tolist(), strict=True))
        with torch.no_grad():
            for block in made.blocks:
                fields, at = made.model.fields(made.engine, block.points, block.plan)
                found = list(block.residual(fields, at, block.extra).values())
                terms = block.terms if block.name == "residual" else block.terms * len(found)
                for term, r in zip(terms, found, strict=True):
                    parts.append(r * math.sqrt(weights[term] * block.stride / len(block)))
        return torch.cat(parts)

    def __call__(self, request):
        if self.calls >= self.most:
            return None
        self.calls += 1
        match request:
            case Loss():
                found = self.objective.losses()
                return Measured(float(found.loss), terms=tuple(found.terms.tolist()))
            case Gradient():
                found = self.objective.evaluate()
                gradient = self.objective.flat.gradient
                return Measured(
                    float(found.loss), gradient=gradient, terms=tuple(found.terms.tolist())
                )
            case Residuals():
                return self.residuals()
            case Pullback(cotangent):
                total = torch.zeros_like(self.theta)
                for at, _, jacobian in self.blocks(256):
                    total += jacobian.T @ cotangent[at]
                return total
            case Jacobian():
                return self
