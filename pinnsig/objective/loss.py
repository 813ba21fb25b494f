"""The loss: named mean squares over points, weighted and summed, with its gradient."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pinnsig.errors import SettingsError
from pinnsig.jets import Carried, Engine, choose_engine, features_of, fields_from
from pinnsig.model import Model
from pinnsig.objective.blocks import make_blocks
from pinnsig.objective.capture import Recorded
from pinnsig.objective.chunks import Chunk, Cutter
from pinnsig.objective.workers import balance, run_shares
from pinnsig.parameters import FlatParameters
from pinnsig.problem import Sites


@dataclass(frozen=True)
class Evaluation:
    """The loss, shape (), and its unweighted mean squares, shape (terms,)."""

    loss: Tensor
    terms: Tensor


class Objective:
    """loss = sum over terms of weight * mean(residual^2).

    On a CPU the points are cut into chunks that are dealt out to as many threads as torch is set
    to use; the result is the same bit for bit whenever that number is the same.

    Args:
        model: what is trained.
        engine: how partials are taken, or the name of an engine (`choose_engine`).
        sites: points by term (`pinnsig.sampling.draw_sites`).
        weights: factors by term; 1 where not given.
        deterministic: choose an engine whose gradients are the same bit for bit every time.

    Raises:
        ProblemError: a residual of the wrong shape, or problem code that fails.
        SettingsError: a weight for a term that does not exist, or a negative one; an engine that
            is unknown or cannot be used.
    """

    def __init__(
        self,
        model: Model,
        engine: Engine | str,
        sites: Mapping[str, Sites],
        weights: Mapping[str, float] | None = None,
        deterministic: bool = False,
    ) -> None:
        self.model = model
        self.flat = FlatParameters(model.parameters())
        model.bind()
        self.blocks = make_blocks(model.problem, sites, self.flat.values)
        if isinstance(engine, str):
            plans = [block.plan for block in self.blocks]
            engine = choose_engine(engine, model.network, plans, deterministic)
        self.engine = engine
        self.term_names = tuple(term for block in self.blocks for term in block.terms)
        self.weights = self._check_weights(weights or {})
        self.evaluations = 0
        self._cutter = Cutter(self.blocks, self.flat.parameters)
        self._recorded = Recorded(
            lambda: self._run(self.flat.gradient, self._cutter.chunks()), self.flat.values.device
        )

    @property
    def notices(self) -> list[str]:
        """What a user should know of how the loss is evaluated; complete after the first time."""
        return [self._recorded.notice] if self._recorded.notice else []

    def _check_weights(self, weights: Mapping[str, float]) -> Tensor:
        for name, weight in weights.items():
            if name not in self.term_names:
                raise SettingsError(
                    f"weight for {name!r}: there is no such term, only {', '.join(self.term_names)}"
                )
            if not 0 <= weight < math.inf:
                raise SettingsError(f"weight of {name} = {weight} must be finite and not negative")
        like = self.flat.values
        # squares are summed in float64 wherever the device has it
        wide = like.dtype if like.device.type == "mps" else torch.float64
        values = [float(weights.get(name, 1.0)) for name in self.term_names]
        return torch.tensor(values, dtype=wide, device=like.device)

    def evaluate(self) -> Evaluation:
        """The loss at the present parameters; its gradient goes to `flat.gradient`."""
        self.evaluations += 1
        terms = self._recorded()
        return Evaluation((self.weights * terms).sum(), terms)

    @torch.no_grad()
    def losses(self) -> Evaluation:
        """The loss at the present parameters, without its gradient and not counted."""
        terms = self._run(None, self._cutter.chunks())
        return Evaluation((self.weights * terms).sum(), terms)

    def non_finite_terms(self) -> list[str]:
        """Names of the terms whose loss or gradient is not finite at the present parameters."""
        found = []
        for block in self.blocks:
            gradient = torch.empty_like(self.flat.values)
            chunks = [chunk for chunk in self._cutter.chunks() if chunk.block is block]
            terms = self._run(gradient, chunks)
            if not (terms.isfinite().all() and gradient.isfinite().all()):
                found.append(block.name)
        return found

    def _run(self, gradient: Tensor | None, chunks: list[Chunk]) -> Tensor:
        """Mean squares of all terms, and the loss's gradient if there is room for it."""
        shares = balance([chunk.cost for chunk in chunks], self._cutter.threads())
        shares = [share for share in shares if share]
        coefficients = self.model.coefficients()
        # the threads stop at these; what lies behind them belongs to no single thread
        leaves = {name: value.detach().requires_grad_() for name, value in coefficients.items()}
        self.model.problem.bind(leaves)
        known = list(leaves.values())

        def work(share: int) -> tuple[Tensor, Tensor]:
            terms = torch.zeros_like(self.weights)
            slope = None if gradient is None else torch.zeros_like(gradient)
            with torch.set_grad_enabled(slope is not None):
                for job in shares[share]:
                    terms[chunks[job].terms] += self._visit(chunks[job], known, slope)
            return terms, terms if slope is None else slope

        found = run_shares(work, len(shares))
        if gradient is not None:
            gradient.zero_()
            for _, slope in found:  # in order, so the same every time
                gradient += slope
            self._chain(gradient, coefficients)
        return sum((terms for terms, _ in found), torch.zeros_like(self.weights))

    def _chain(self, gradient: Tensor, coefficients: dict[str, Tensor]) -> None:
        """From slopes in the learned coefficients, last in the vector, to those in parameters."""
        for i, (name, value) in enumerate(coefficients.items(), start=-len(coefficients)):
            (slope,) = torch.autograd.grad(value, self.model.unknowns[name])
            gradient[i] *= slope

    def _visit(self, chunk: Chunk, leaves: list[Tensor], slope: Tensor | None) -> Tensor:
        """A chunk's share of its block's mean squares, shape (terms of the block,).

        Its share of the gradient, in the network's parameters and in the leaves, is added to
        `slope`.
        """
        block, model = chunk.block, self.model
        points = block.points[chunk.points]
        extra = {key: column[chunk.points] for key, column in block.extra.items()}
        carried = self.engine.carry(model.network, features_of(model.problem), points, block.plan)
        fields, at = fields_from(model.problem, carried.table, points, block.plan)
        residuals = list(block.residual(fields, at, extra).values())
        share = block.stride / len(block)
        values = [r.detach() for r in residuals]
        sums = torch.stack([r.square().sum(dtype=self.weights.dtype) for r in values]) * share
        if slope is not None:
            factors = (2 * share * self.weights[chunk.terms]).to(slope).expand(len(values))
            # the slope of each square; a residual may depend on nothing that is trained
            pulls = [
                (r, factor * value)
                for r, value, factor in zip(residuals, values, factors, strict=True)
                if r.requires_grad
            ]
            if pulls:
                self._pull(pulls, carried, leaves, slope)
        return sums if block.name == "residual" else sums.sum().reshape(1)

    @staticmethod
    def _pull(
        pulls: list[tuple[Tensor, Tensor]],
        carried: Carried,
        leaves: list[Tensor],
        slope: Tensor,
    ) -> None:
        """Add to `slope` what residuals' cotangents mean to the parameters and the leaves."""
        residuals, cotangents = zip(*pulls, strict=True)
        table, *direct = torch.autograd.grad(
            residuals, [carried.table, *leaves], cotangents, allow_unused=True
        )
        behind = len(slope) - len(leaves)
        through: Sequence[Tensor | None] = ()
        if table is not None:
            network, through = carried.gradient(table, leaves)
            slope[:behind] += network
        for found in (direct, through):
            for i, value in enumerate(found, start=behind):
                if value is not None:
                    slope[i] += value
