"""How far the integrals that conditions ask for are off by their quadrature."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pinnsig.derivatives import Plan
from pinnsig.model.fields import fields_at, trace_partials
from pinnsig.objective import Objective, expressions
from pinnsig.objective.blocks import Residual
from pinnsig.problem import Integral, Problem, Sites
from pinnsig.run.judging.points import stream

AT_ONCE = 2**14  # points


@dataclass(frozen=True)
class QuadratureError:
    """Of one condition.

    Attributes:
        nodes: of an integral.
        error: the largest difference to the rule with twice as many nodes along each coordinate.
        size: the largest integral of the absolute value of what is integrated.
    """

    nodes: int
    error: float
    size: float

    def as_dict(self) -> dict[str, Any]:
        """What `result.json` holds."""
        return asdict(self)


def quadrature_errors(objective: Objective, seed: int) -> dict[str, QuadratureError]:
    """Return, by term, what the quadrature of integrals is off by on the fields as they are.

    Args:
        objective: holds the model.
        seed: of the run; the lines along which integrals are compared are a function of it.
    """
    bound = objective.model.bound()
    found = {}
    for name, condition in bound.terms().items():
        if isinstance(condition, Integral) and name in objective.sites:
            rules = (condition, condition.refined(bound.domain), condition.of_sizes())
            coarse, fine, size = (_integrals(objective, bound, name, c, seed) for c in rules)
            error = float(np.max(np.abs(coarse - fine)))
            found[name] = QuadratureError(condition.stride, error, float(np.max(size)))
    return found


@torch.no_grad()
def _integrals(
    objective: Objective, bound: Problem, name: str, condition: Integral, seed: int
) -> np.ndarray:
    """The residuals of a condition at lines that are the same for every rule, shape (lines,)."""
    generator, names = stream(seed, f"quadrature of {name}"), bound.domain.names
    sites = condition.sites(bound.domain, 0, lambda n, dims: generator.random((n, dims)))
    *_, (_, residual, stride) = expressions(bound, {name: condition})
    step = max(AT_ONCE // stride, 1) * stride
    plan: Plan | None = None
    values = []
    for start in range(0, len(sites.points), step):
        rows = slice(start, start + step)
        part = Sites(sites.points[rows], {key: c[rows] for key, c in sites.extra.items()})
        points, extra = part.tensors(names, objective.flat.values)
        if plan is None:
            few = {key: column[:stride] for key, column in extra.items()}
            plan = _plan(bound, residual, points[:stride], few)
        fields, at = fields_at(bound, objective.model.network, objective.engine, points, plan)
        values.append(residual(fields, at, extra)["value"])
    return torch.cat(values).double().cpu().numpy()


def _plan(bound: Problem, residual: Residual, points: Tensor, extra: dict[str, Tensor]) -> Plan:
    return trace_partials(bound, lambda fields, at: residual(fields, at, extra), points)[0]
