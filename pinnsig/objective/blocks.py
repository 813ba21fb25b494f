"""From a problem to blocks: points, what its terms compute there, and the partials they need."""

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor

from pinnsig.errors import ProblemError
from pinnsig.jets import Jet, Plan, Symbol, record
from pinnsig.problem import Condition, Problem, Sites
from pinnsig.problem.condition import GROUPS, results_by_name

Residual = Callable[[Mapping[str, Jet], Mapping[str, Jet], Mapping[str, Tensor]], dict[str, Tensor]]
"""Residuals by name, each of shape (N,), from fields, coordinates and the sites' extra columns."""


@dataclass(frozen=True)
class Block:
    """Points that share a plan and an expression, which may give several terms.

    Attributes:
        residuals: how many residuals there are at each point; a condition on several quantities
            has several, which make one term.
    """

    name: str
    terms: tuple[str, ...]
    points: Tensor
    extra: dict[str, Tensor]
    plan: Plan
    stride: int
    residuals: int

    def __len__(self) -> int:
        return len(self.points)

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


def make_blocks(problem: Problem, sites: Mapping[str, Sites], like: Tensor) -> list[Block]:
    """The blocks of all terms that have points, in the type and on the device of `like`.

    Raises:
        ProblemError: a residual of the wrong shape, problem code that fails, or two terms of one
            name.
    """
    blocks = [
        _make_block(problem, name, sites[name], residual, stride, like)
        for name, residual, stride in expressions(problem, problem.terms())
        if name in sites
    ]
    for term in blocks[0].terms if blocks else ():
        if term in GROUPS:
            raise ProblemError(f"a residual is named {term!r}, as a group of conditions is: rename")
    names = [term for block in blocks for term in block.terms]
    if len(set(names)) != len(names):
        raise ProblemError(f"two terms have one name among {', '.join(names)}")
    return blocks


def _make_block(
    problem: Problem, name: str, sites: Sites, residual: Residual, stride: int, like: Tensor
) -> Block:
    points = torch.as_tensor(sites.points).to(like)
    extra = {key: torch.as_tensor(column).to(like) for key, column in sites.extra.items()}
    some = slice(0, 4)  # enough to tell (N,) from (1,) and from (N, 1)
    few = {key: column[some] for key, column in extra.items()}
    what = name if name == "residual" else f"condition {name!r}"
    plan, result = record(
        problem, lambda fields, at: residual(fields, at, few), points[some], what=what
    )
    if not result:
        raise ProblemError(f"{type(problem).__name__}: {what} gives nothing")
    terms = tuple(result) if name == "residual" else (name,)
    return Block(name, terms, points, extra, plan, stride, len(result))


def expressions(
    problem: Problem, conditions: Mapping[str, Condition]
) -> Iterator[tuple[str, Residual, int]]:
    """Name, residual and stride of every block of a problem."""
    yield "residual", functools.partial(_pde_residual, problem), 1
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
    result = results_by_name(found, "residual", f"{type(problem).__name__}.residual")
    n = len(next(iter(at.values())))
    return {name: _checked(r, n, f"residual {name!r}" if name != "residual" else name)
            for name, r in result.items()}  # fmt: skip


def _condition_residual(condition: Condition, name: str) -> Residual:
    def residual(
        fields: Mapping[str, Jet], at: Mapping[str, Jet], extra: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        plain = not condition.differentiable
        places = {key: jet.value if plain else jet for key, jet in at.items()}
        found = condition.residual(fields, cast(Mapping[str, Tensor], places), extra)
        n = len(next(iter(at.values()))) // condition.stride
        return {key: _checked(r, n, f"term {name!r}, {key}") for key, r in found.items()}

    return residual


def _checked(residual: Any, n: int, what: str) -> Tensor:
    """A residual as a tensor of shape (n,); nothing ever broadcasts silently."""
    values = residual.value if isinstance(residual, Jet) else residual
    if not isinstance(values, Tensor | Symbol):
        raise ProblemError(f"{what} must be a tensor of shape ({n},), not {type(values).__name__}")
    if values.shape != (n,):
        raise ProblemError(f"{what} must have shape ({n},), not {tuple(values.shape)}")
    return cast(Tensor, values)  # as a symbol behaves
