"""The loss: named mean squares over points, weighted and summed, with its gradient."""

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pinnsig.errors import ProblemError, SettingsError
from pinnsig.jets import Engine, Plan, record
from pinnsig.jets.jet import Jet
from pinnsig.model import Model
from pinnsig.parameters import FlatParameters
from pinnsig.problem import Condition, Problem, Sites

Residual = Callable[[Mapping[str, Jet], Mapping[str, Jet], Mapping[str, Tensor]], dict[str, Tensor]]

# Stack elements (partials x points x width) carried at once: on a CPU few enough to stay in cache
CHUNK_ELEMENTS = {"cpu": 2**18}
CHUNK_ELEMENTS_ACCELERATOR = 2**27


@dataclass(frozen=True)
class Evaluation:
    """The loss, shape (), and its unweighted mean squares, shape (terms,)."""

    loss: Tensor
    terms: Tensor


@dataclass(frozen=True)
class Block:
    """Points that share a plan and an expression, which may give several terms."""

    name: str
    terms: tuple[str, ...]
    points: Tensor
    extra: dict[str, Tensor]
    residual: Residual
    plan: Plan
    stride: int


class Objective:
    """loss = sum over terms of weight * mean(residual^2).

    Args:
        model: what is trained.
        engine: how partials are taken.
        sites: points by term (`pinnsig.sampling.draw_sites`).
        weights: factors by term; 1 where not given.

    Raises:
        ProblemError: a residual of the wrong shape, or problem code that fails.
        SettingsError: a weight for a term that does not exist, or a negative one.
    """

    def __init__(
        self,
        model: Model,
        engine: Engine,
        sites: Mapping[str, Sites],
        weights: Mapping[str, float] | None = None,
    ) -> None:
        self.model = model
        self.engine = engine
        self.flat = FlatParameters(model.parameters())
        self.blocks = [
            self._block(name, sites[name], expression, stride)
            for name, expression, stride in expressions(model.problem)
            if name in sites
        ]
        self.term_names = tuple(term for block in self.blocks for term in block.terms)
        if len(set(self.term_names)) != len(self.term_names):
            raise ProblemError(f"two terms have one name among {', '.join(self.term_names)}")
        self.weights = self._check_weights(weights or {})
        self.evaluations = 0

    def _block(self, name: str, sites: Sites, residual: Residual, stride: int) -> Block:
        like = self.flat.values
        points = torch.as_tensor(sites.points).to(like)
        extra = {key: torch.as_tensor(column).to(like) for key, column in sites.extra.items()}
        some = slice(0, 4)
        few = {key: column[some] for key, column in extra.items()}
        self.model.problem.bind({k: v.detach() for k, v in self.model.coefficients().items()})
        plan, result = record(
            self.model.problem, lambda fields, at: residual(fields, at, few), points[some]
        )
        terms = tuple(result) if name == "residual" else (name,)
        return Block(name, terms, points, extra, residual, plan, stride)

    def _check_weights(self, weights: Mapping[str, float]) -> Tensor:
        for name, weight in weights.items():
            if name not in self.term_names:
                raise SettingsError(
                    f"weight for {name!r}: there is no such term, only {', '.join(self.term_names)}"
                )
            if not 0 <= weight < math.inf:
                raise SettingsError(f"weight of {name} = {weight} must be finite and not negative")
        like = self.flat.values
        values = [float(weights.get(name, 1.0)) for name in self.term_names]
        return torch.tensor(values, dtype=_wide(like), device=like.device)

    def evaluate(self) -> Evaluation:
        """The loss at the present parameters; its gradient goes to `flat.gradient`."""
        self.evaluations += 1
        self.flat.gradient.zero_()
        totals = torch.zeros_like(self.weights)
        for block in self.blocks:
            for terms, squares in self._squares(block):
                (self.weights[terms] * squares).sum().backward()
                totals[terms] += squares.detach()
        return Evaluation((self.weights * totals).sum(), totals)

    @torch.no_grad()
    def losses(self) -> Evaluation:
        """The loss at the present parameters, without its gradient and not counted."""
        totals = torch.zeros_like(self.weights)
        for block in self.blocks:
            for terms, squares in self._squares(block):
                totals[terms] += squares
        return Evaluation((self.weights * totals).sum(), totals)

    def non_finite_terms(self) -> list[str]:
        """Names of the terms whose loss or gradient is not finite at the present parameters."""
        kept = self.flat.gradient.clone()
        found = []
        for block in self.blocks:
            self.flat.gradient.zero_()
            for _, squares in self._squares(block):
                squares.sum().backward()
                if not (squares.isfinite().all() and self.flat.gradient.isfinite().all()):
                    found.append(block.name)
                    break
        self.flat.gradient.copy_(kept)
        return found

    def _squares(self, block: Block) -> Iterator[tuple[slice, Tensor]]:
        """For each chunk of a block, its share of the block's mean squares."""
        first = self.term_names.index(block.terms[0])
        terms = slice(first, first + len(block.terms))
        n = len(block.points)
        for chunk in _chunks(n, self._chunk_length(block)):
            extra = {key: column[chunk] for key, column in block.extra.items()}
            fields, at = self.model.fields(self.engine, block.points[chunk], block.plan)
            residuals = block.residual(fields, at, extra)
            sums = [r.square().sum(dtype=self.weights.dtype) for r in residuals.values()]
            squares = torch.stack(sums) * (block.stride / n)
            yield terms, squares if block.name == "residual" else squares.sum().reshape(1)

    def _chunk_length(self, block: Block) -> int:
        width = max(p.shape[0] for p in self.flat.parameters if p.ndim)
        room = CHUNK_ELEMENTS.get(block.points.device.type, CHUNK_ELEMENTS_ACCELERATOR)
        length = max(room // (len(block.plan) * width), 64)
        return length - length % block.stride


def expressions(problem: Problem) -> Iterator[tuple[str, Residual, int]]:
    """Name, residual and stride of every block of a problem."""
    yield "residual", functools.partial(_pde_residual, problem), 1
    for name, condition in problem.terms().items():
        yield name, _condition_residual(condition, name), condition.stride


def _pde_residual(
    problem: Problem,
    fields: Mapping[str, Jet],
    at: Mapping[str, Jet],
    extra: Mapping[str, Tensor],
) -> dict[str, Tensor]:
    del extra
    result = problem.call("residual", {**fields, **at})
    if isinstance(result, tuple | list):
        result = {f"residual_{i}": r for i, r in enumerate(result, start=1)}
    elif not isinstance(result, dict):
        result = {"residual": result}
    n = len(next(iter(at.values())))
    return {name: _checked(r, n, f"residual {name!r}" if name != "residual" else name)
            for name, r in result.items()}  # fmt: skip


def _condition_residual(condition: Condition, name: str) -> Residual:
    def residual(
        fields: Mapping[str, Jet], at: Mapping[str, Jet], extra: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        values = {key: jet.value for key, jet in at.items()}
        found = condition.residual(fields, values, extra)
        n = len(next(iter(values.values()))) // condition.stride
        return {key: _checked(r, n, f"term {name!r}, {key}") for key, r in found.items()}

    return residual


def _checked(residual: Any, n: int, what: str) -> Tensor:
    """A residual as a tensor of shape (n,); nothing ever broadcasts silently."""
    values = residual.value if isinstance(residual, Jet) else residual
    if not isinstance(values, Tensor):
        raise ProblemError(f"{what} must be a tensor of shape ({n},), not {type(values).__name__}")
    if values.shape != (n,):
        raise ProblemError(f"{what} must have shape ({n},), not {tuple(values.shape)}")
    return values


def _chunks(n: int, length: int) -> Iterator[slice]:
    for start in range(0, n, length):
        yield slice(start, min(start + length, n))


def _wide(like: Tensor) -> torch.dtype:
    """The type in which squares are summed: float64 wherever the device has it."""
    return like.dtype if like.device.type == "mps" else torch.float64
