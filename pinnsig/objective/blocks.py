"""From a problem to blocks: points, what its terms compute there, and the partials they need."""

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor

from pinnsig.core.errors import ProblemError
from pinnsig.derivatives import Jet, Plan, Symbol
from pinnsig.model.fields import trace_partials
from pinnsig.objective.pointwise import check_inputs, check_pointwise
from pinnsig.objective.stand_ins import StandIns, domain_points
from pinnsig.problem import Condition, Problem, Sites
from pinnsig.problem.condition import GROUPS, INTERIOR, WEIGHTS, real_tensor, results_by_name

Residual = Callable[[Mapping[str, Jet], Mapping[str, Jet], Mapping[str, Tensor]], dict[str, Tensor]]
"""Residuals by name, each of shape (N,), from fields, coordinates and the sites' extra columns."""


@dataclass(frozen=True)
class Block:
    """Points that share a plan and an expression, which may give several terms.

    Attributes:
        residuals: how many residuals there are at each point; a condition on several quantities
            has several, which make one term.
        notice: what a user should know of its code, a line; "" for nothing.
        total: how many points the term has in all, where other processes hold the rest; infinity
            where those here count for nothing; None where these are all.
    """

    name: str
    terms: tuple[str, ...]
    points: Tensor
    extra: dict[str, Tensor]
    plan: Plan
    stride: int
    residuals: int
    notice: str = ""
    total: float | None = None

    def __len__(self) -> int:
        return self.points.shape[0]

    @property
    def is_interior(self) -> bool:
        """Whether its points are the collocation points, and its residuals the PDE's own."""
        return self.name == INTERIOR

    @property
    def residual_terms(self) -> tuple[str, ...]:
        """The term of each of its residuals."""
        return self.terms if self.is_interior else self.terms * self.residuals

    def by_term(self, sums: Tensor) -> Tensor:
        """From sums by residual, shape (..., residuals), to those by term, (..., terms)."""
        return sums if self.is_interior else sums.sum(-1, keepdim=True)

    @property
    def groups(self) -> float:
        """How many groups of neighbouring points its means are over."""
        return (len(self) if self.total is None else self.total) / self.stride

    @property
    def rows(self) -> int:
        """How many residuals it has over all its points."""
        return self.residuals * (len(self) // self.stride)


@dataclass(frozen=True)
class BoundTerms:
    """A problem whose coefficients have their values, and the residuals of its terms.

    Attributes:
        residuals: by the block's name.
    """

    problem: Problem
    residuals: dict[str, Residual]

    @classmethod
    def of(
        cls, problem: Problem, conditions: Mapping[str, Condition] | None = None
    ) -> "BoundTerms":
        """The residuals of a problem.

        Args:
            problem: with its coefficients.
            conditions: by term; None makes them anew, so that they read this problem's own
                coefficients.
        """
        found = expressions(problem, problem.terms() if conditions is None else conditions)
        return cls(problem, {name: residual for name, residual, _ in found})


def make_blocks(
    problem: Problem,
    sites: Mapping[str, Sites],
    like: Tensor,
    checked: bool = False,
    totals: Mapping[str, float] | None = None,
) -> list[Block]:
    """The blocks of all terms that have points, in the type and on the device of `like`.

    Args:
        problem: with its coefficients.
        sites: points by term.
        like: as above.
        checked: whether it is known that the problem's code sees each point by itself.
        totals: points of each term in all, where these are a share of them; see `Block.total`.

    Raises:
        ProblemError: a residual of the wrong shape or type, problem code that fails or depends on
            other points (`pinnsig.objective.pointwise`), or two terms of one name.
    """
    if not checked:
        inside = domain_points(problem, like)
        check_inputs(problem, StandIns(problem, inside, {}, 1))
    conditions = problem.terms()
    blocks = [
        _make_block(problem, name, sites[name], residual, stride, like)
        for name, residual, stride in expressions(problem, conditions)
        if name in sites
    ]
    if not checked:
        known = dict(zip((block.name for block in blocks), blocks, strict=True))
        blocks = [
            _checked_block(problem, known[name], residual, conditions.get(name))
            for name, residual, _ in expressions(problem, conditions)
            if name in known
        ]
    for term in (term for block in blocks if block.is_interior for term in block.terms):
        if term in GROUPS:
            raise ProblemError(f"a residual is named {term!r}, as a group of conditions is: rename")
    if totals is not None:
        blocks = [replace(block, total=totals[block.name]) for block in blocks]
    names = [term for block in blocks for term in block.terms]
    if len(set(names)) != len(names):
        raise ProblemError(f"two terms have one name among {', '.join(names)}")
    return blocks


def _make_block(
    problem: Problem, name: str, sites: Sites, residual: Residual, stride: int, like: Tensor
) -> Block:
    points, extra = sites.tensors(problem.domain.names, like)
    # whole groups of points, and enough to tell (N,) from (1,) and from (N, 1)
    some = slice(0, max(4, 2 * stride))
    few = {key: column[some] for key, column in extra.items()}
    what = _words(name)
    plan, result = trace_partials(
        problem, lambda fields, at: residual(fields, at, few), points[some], what=what
    )
    if not result:
        raise ProblemError(f"{type(problem).__name__}: {what} gives nothing")
    terms = tuple(result) if name == INTERIOR else (name,)
    short = any(r.dtype != like.dtype and _is_rounded(r) for r in result.values())
    notice = (
        f"{type(problem).__name__}: {what} is computed with 7 digits (torch.float32) where others "
        "have 16: make its numbers with dtype=torch.float64"
    )
    return Block(name, terms, points, extra, plan, stride, len(result), notice if short else "")


def _is_rounded(values: Tensor) -> bool:
    """Whether they are no short numbers, as 0, 1 and 0.5 are, that any type holds."""
    return not torch.equal(values, values.bfloat16().to(values))


def _checked_block(
    problem: Problem, block: Block, residual: Residual, condition: Condition | None
) -> Block:
    extra = {key: column.double() for key, column in block.extra.items()}
    standins = StandIns(problem, block.points.double(), extra, block.stride)
    rounded = check_pointwise(problem, _words(block.name), residual, standins, condition)
    if rounded is None or block.notice or block.points.dtype != torch.float64:
        return block
    return replace(block, notice=f"{type(problem).__name__}: {rounded}")


def _words(name: str) -> str:
    return name if name == INTERIOR else f"condition {name!r}"


def expressions(
    problem: Problem, conditions: Mapping[str, Condition]
) -> Iterator[tuple[str, Residual, int]]:
    """Name, residual and stride of every block of a problem."""
    yield INTERIOR, functools.partial(_pde_residual, problem), 1
    for name, condition in conditions.items():
        yield name, _condition_residual(condition, name), condition.stride


def _pde_residual(
    problem: Problem,
    fields: Mapping[str, Jet],
    at: Mapping[str, Jet],
    extra: Mapping[str, Tensor],
) -> dict[str, Tensor]:
    del extra
    found = problem.call("residual", {**fields, **at})
    what = type(problem).__name__
    result = results_by_name(found, "residual", f"{what}.residual")
    like = next(iter(at.values())).like
    return {
        name: _checked(
            r, like, 1, f"{what}: residual {name!r}" if name != "residual" else f"{what}: residual"
        )
        for name, r in result.items()
    }


def _condition_residual(condition: Condition, name: str) -> Residual:
    def residual(
        fields: Mapping[str, Jet], at: Mapping[str, Jet], extra: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        plain, stride = not condition.differentiable, condition.stride
        places = {key: jet.value if plain else jet for key, jet in at.items()}
        own = {key: column for key, column in extra.items() if key != WEIGHTS}
        given = condition.residual(fields, cast(Mapping[str, Tensor], places), own)
        like = next(iter(at.values())).like
        found = {
            key: _checked(r, like, stride, f"term {name!r}, {key}") for key, r in given.items()
        }
        if WEIGHTS not in extra:
            return found
        roots = extra[WEIGHTS][::stride].sqrt()
        return {key: r * roots for key, r in found.items()}

    return residual


def _checked(residual: Any, like: Tensor, stride: int, what: str) -> Tensor:
    """A residual as a tensor of shape (N / stride,), with as many digits as the points.

    Nothing ever broadcasts silently.
    """
    n = len(like) // stride
    values = residual.value if isinstance(residual, Jet) else residual
    if isinstance(values, Symbol):
        if values.shape != (n,):
            raise ProblemError(f"{what} must have shape ({n},), not {tuple(values.shape)}")
        return cast(Tensor, values)  # as a symbol behaves
    if not isinstance(values, Tensor):
        raise ProblemError(f"{what} must be a tensor of shape ({n},), not {type(values).__name__}")
    if values.shape != (n,):
        raise ProblemError(f"{what} must have shape ({n},), not {tuple(values.shape)}")
    return real_tensor(values, what)
