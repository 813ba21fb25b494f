"""Whether training can move what it has to find: gradients in learned coefficients, before it."""

import copy
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pinnsig.core.errors import PinnsigError, ProblemError, one_line
from pinnsig.derivatives import input_partials
from pinnsig.model.fields import features_of, fields_from
from pinnsig.objective.blocks import Block, BoundTerms
from pinnsig.objective.loss import Objective
from pinnsig.problem import Problem, Sites
from pinnsig.problem.bijections import Bijection
from pinnsig.sampling import Counts, draw_sites

PLACES = (0.0, 0.5)  # parameters at which slopes are compared: one of them may be a kink
STEP = 1e-4  # of the parameter
TOLERANCE = 1e-3  # of a difference
ROUNDING = 1e-10  # of what it is the difference of
POINTS = 4  # of each block
FEW = Counts(4, 64, 64)


def check_learned(objective: Objective) -> None:
    """Refuse what is learned and training could not move, wholly or in part.

    Gradients in it are compared with differences between problems that are made anew, so that
    whatever reads its value as a plain number is found, wherever it stands.

    Raises:
        ProblemError: no term depends on a coefficient, or code reads it as a number, or the domain,
            points or data depend on it; or no term reads an unknown function.
    """
    model = objective.model
    weights = dict(zip(objective.term_names, objective.given_weights, strict=True))
    blocks = [b for b in objective.blocks if any(weights[term] > 0 for term in b.terms)]
    for name, bijection in model.bijections.items():
        values = [_around(bijection, place) for place in PLACES]
        uses = False
        for block in blocks:
            slopes = [_slopes(model.problem, name, block, three) for three in values]
            if all(slope.is_cut for slope in slopes):
                what = "the residual" if block.is_interior else f"condition {block.name!r}"
                raise ProblemError(
                    f"{name} is learned, but {what} (or its ansatz or features) reads its value as "
                    "a plain number, which no gradient reaches: keep it a tensor, without float(), "
                    ".item(), math, numpy or what __init__ made of it"
                )
            uses = uses or any(slope.change or slope.predicted for slope in slopes)
        _check_places(model.problem, name, values[0][1], values[1][1])
        if not uses:
            raise ProblemError(f"{name} is learned, but no term depends on it")
    read = {name for block in blocks for name in _functions_read(model.problem, block)}
    for name in model.problem.functions():
        if name not in read:
            raise ProblemError(f"the function {name} is unknown, but no term depends on it")


def _around(bijection: Bijection, place: float) -> list[float]:
    """Values a small step below a parameter, at it, and above."""
    thetas = torch.tensor([place - STEP, place, place + STEP], dtype=torch.float64)
    return [float(bijection.value(theta)) for theta in thetas]


@dataclass(frozen=True)
class _Slope:
    """How a block changes over a small change of a coefficient: truly, and by its gradient."""

    change: float
    predicted: float
    noise: float

    @property
    def is_cut(self) -> bool:
        """Whether the gradient is not the slope; never where something is not finite."""
        return abs(self.change - self.predicted) > TOLERANCE * abs(self.change) + self.noise


def _slopes(problem: Problem, name: str, block: Block, values: list[float]) -> _Slope:
    below, middle, above = values
    leaf = torch.tensor(middle, dtype=torch.float64, requires_grad=True)

    def at(value: float, as_tensor: Tensor | None = None) -> Tensor:
        made = _made(problem, name, value)
        plain = torch.tensor(value, dtype=torch.float64)
        return _sum(made, block, name, plain if as_tensor is None else as_tensor)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # torch's, of a tensor read as a number
        low, high, here, again = at(below), at(above), at(middle), at(middle, leaf)
    slope = None
    if again.requires_grad:
        (slope,) = torch.autograd.grad(again, leaf, allow_unused=True)
    predicted = 0.0 if slope is None else float(slope) * (above - below)
    # code that draws random numbers gives another value each time
    noise = ROUNDING * float(abs(low) + abs(high)) + 2 * float(abs(here - again.detach()))
    return _Slope(float(high - low), predicted, noise)


def _made(problem: Problem, name: str, value: float) -> Problem:
    """The same problem as if it had been made with another value."""
    try:
        made = type(problem)(**{**problem.values(), name: value})
    except TypeError:  # its own __init__ does not take coefficients
        made = copy.copy(problem)
        setattr(made, name, value)
    made.hard, made.scaled_inputs = problem.hard, problem.scaled_inputs
    made.output_scales = problem.output_scales
    return made


def _functions_read(problem: Problem, block: Block) -> Iterator[str]:
    """The unknown functions that a block's residuals depend on."""
    known = list(problem.functions())
    if not known:
        return
    learned = {
        name: torch.tensor(getattr(problem, name), dtype=torch.float64)
        for name in problem.learned()
    }
    bound = problem.bound(learned)
    points = block.points[: POINTS * block.stride].cpu().double()
    extra = {key: column[: len(points)].cpu().double() for key, column in block.extra.items()}
    random = torch.Generator().manual_seed(0)
    shape = len(block.plan), len(points), len(problem.outputs)
    table = torch.rand(shape, generator=random, dtype=torch.float64).requires_grad_()
    with torch.enable_grad():
        fields, at = fields_from(bound, table, points, block.plan)
        for residual in BoundTerms.of(bound).residuals[block.name](fields, at, extra).values():
            if residual.requires_grad:
                (found,) = torch.autograd.grad(residual.sum(), table, retain_graph=True)
                for name, column in zip(known, found[..., -len(known) :].unbind(2), strict=True):
                    if column.any():
                        yield name


def _sum(problem: Problem, block: Block, name: str, value: Tensor) -> Tensor:
    """A sum over a block's residuals and features with fixed factors, shape ()."""
    learned: Mapping[str, Tensor] = {
        other: torch.tensor(getattr(problem, other), dtype=torch.float64)
        for other in problem.learned()
    }
    bound = problem.bound({**learned, name: value})
    some = slice(0, POINTS * block.stride)
    points, plan = block.points[some].cpu().double(), block.plan
    extra = {key: column[some].cpu().double() for key, column in block.extra.items()}
    random = torch.Generator().manual_seed(0)

    def drawn(*shape: int) -> Tensor:
        return torch.rand(shape, generator=random, dtype=torch.float64)

    what = "conditions"
    with torch.enable_grad():
        try:
            terms = BoundTerms.of(bound)
            what = block.name
            table = drawn(len(plan), len(points), len(bound.outputs))
            fields, at = fields_from(bound, table, points, plan)
            parts = list(terms.residuals[block.name](fields, at, extra).values())
            parts.append(input_partials(features_of(bound), points, plan).flatten())
        except PinnsigError:
            raise
        except Exception as error:
            raise ProblemError(
                f"{name} is learned, a tensor, with which {what} fails: {one_line(error)}"
            ) from error
        return sum((torch.sum(part * drawn(len(part))) for part in parts), torch.zeros(()).double())


def _check_places(problem: Problem, name: str, value: float, other: float) -> None:
    """Refuse a domain, points or data that depend on a coefficient: they are drawn once.

    Raises:
        ProblemError: they do.
    """
    made, same, moved = (_made(problem, name, v) for v in (value, value, other))
    one, two = (np.stack([p.domain.lower, p.domain.upper]) for p in (made, moved))
    if not np.array_equal(one, two):
        raise ProblemError(f"{name} is learned, but the domain depends on it, which is fixed")
    found, again, elsewhere = (draw_sites(p, FEW, "lhs", 0) for p in (made, same, moved))
    for term in found:
        # data that code draws at random differ anyway
        if _differ(found[term], elsewhere[term]) and not _differ(found[term], again[term]):
            raise ProblemError(
                f"{name} is learned, but points or data of {term!r} depend on it: they are drawn "
                "once, at its start"
            )


def _differ(one: Sites, other: Sites) -> bool:
    columns = ([sites.points, *sites.extra.values()] for sites in (one, other))
    return not all(np.array_equal(a, b) for a, b in zip(*columns, strict=True))
