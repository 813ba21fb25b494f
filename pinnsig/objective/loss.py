"""The loss: named mean squares over points, weighted and summed, with its gradient."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pinnsig.capture import Recorded
from pinnsig.errors import SettingsError
from pinnsig.jets import Carried, Engine, choose_engine, features_of
from pinnsig.model import Model
from pinnsig.objective.blocks import make_blocks
from pinnsig.objective.chunks import Chunk, Cutter
from pinnsig.objective.residuals import Evaluator, Found
from pinnsig.objective.workers import balance, run_shares
from pinnsig.parameters import FlatParameters
from pinnsig.problem import Sites


@dataclass(frozen=True)
class Evaluation:
    """The loss, shape (), and its unweighted mean squares, shape (terms,)."""

    loss: Tensor
    terms: Tensor


Delegate = Callable[["Objective"], Tensor | None]
"""Evaluates an objective in its stead: sets `flat.gradient` and gives the mean squares of its terms
as they are and as they are minimised, shape (2, terms); or None, and it evaluates itself."""


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
        delegate: asked first for each evaluation.

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
        delegate: Delegate | None = None,
    ) -> None:
        self.model = model
        self.delegate = delegate
        self.sites = dict(sites)
        self.deterministic = deterministic
        self.engine_name = engine if isinstance(engine, str) else engine.name
        self.flat = FlatParameters(model.parameters())
        model.bind()
        self.blocks = make_blocks(model.problem, sites, self.flat.values)
        if isinstance(engine, str):
            plans = [block.plan for block in self.blocks]
            engine = choose_engine(engine, model.network, plans, deterministic)
        self.engine = engine
        self.term_names = tuple(term for block in self.blocks for term in block.terms)
        self.weights = self._check_weights(weights or {})
        self.given_weights: list[float] = self.weights.tolist()
        means = [block.stride / len(block) for block in self.blocks for _ in block.terms]
        self.means = torch.tensor(means, dtype=torch.float64).to(self.weights)
        self.evaluations = 0
        # of the collocation points, shape (N,): factors on their residuals, and these' sizes
        self.attention: Tensor | None = None
        self.sizes: Tensor | None = None
        self._evaluator = Evaluator(model.problem, self.blocks, self.flat.values)
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
        found = None if self.delegate is None else self.delegate(self)
        if found is None:
            found = self._recorded()
        assert found is not None
        return self._evaluation(found)

    @torch.no_grad()
    def losses(self) -> Evaluation:
        """The loss at the present parameters, without its gradient and not counted."""
        return self._evaluation(self._run(None, self._cutter.chunks()))

    def _evaluation(self, found: Tensor) -> Evaluation:
        return Evaluation((self.weights * found[1]).sum(), found[0])

    def attend(self, factors: Tensor | None) -> None:
        """Multiply the residuals at the collocation points, in what is minimised only.

        Args:
            factors: shape (N,), of the first block's points, kept and read at each evaluation;
                None ends it. With factors, `sizes` holds the residuals' 2-norms over the equations
                after an evaluation.
        """
        self.attention = factors
        self.sizes = None if factors is None else torch.zeros_like(factors)

    def changed(
        self, sites: Mapping[str, Sites] | None = None, dtype: torch.dtype | None = None
    ) -> "Objective":
        """The same loss of the same model at other points, or in another precision.

        The model changes with it; this objective is not to be used any more.
        """
        if dtype is not None:
            self.model.to(dtype)
        given = dict(zip(self.term_names, self.given_weights, strict=True))
        sites = sites or self.sites
        other = Objective(
            self.model, self.engine_name, sites, given, self.deterministic, self.delegate
        )
        other.evaluations = self.evaluations
        return other

    @torch.no_grad()
    def residual_sizes(self, points: Tensor) -> Tensor:
        """The 2-norm of the residuals of all equations at points inside the domain.

        Args:
            points: shape (N, dimensions).

        Returns:
            Shape (N,).
        """
        self.model.bind()
        block = self.blocks[0]
        longest = self._cutter.chunks()[0].span.stop
        sizes = []
        for part in points.to(self.flat.values).split(longest):
            fields, at = self.model.fields(self.engine, part, block.plan)
            squares = [r.square() for r in block.residual(fields, at, {}).values()]
            sizes.append(torch.stack(squares).sum(0).sqrt())
        return torch.cat(sizes)

    def term_gradients(self) -> Tensor:
        """Gradients of the mean squares of every term, without weights, shape (terms, P)."""
        weights = self.weights.clone()
        found = self.flat.values.new_zeros(len(self.term_names), len(self.flat))
        for i, gradient in enumerate(found):
            self.weights.zero_()[i] = 1.0
            within = [c for c in self._cutter.chunks() if c.terms.start <= i < c.terms.stop]
            self._run(gradient, within)
        self.weights.copy_(weights)
        return found

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
        """Mean squares of all terms, and the loss's gradient if there is room for it.

        Returns:
            Shape (2, terms): as they are, and with factors of points, as they are minimised.
        """
        threads = self._cutter.threads()
        shares = balance([chunk.cost for chunk in chunks], threads)
        shares = [share for share in shares if share]
        coefficients = self.model.coefficients()
        # the threads stop at these; what lies behind them belongs to no single thread
        leaves = {name: value.detach().requires_grad_() for name, value in coefficients.items()}
        self.model.problem.bind(leaves)
        known = list(leaves.values())
        factors = 2 * self.weights * self.means  # half the slope of a square

        def work(share: int) -> tuple[Tensor, Tensor]:
            squares = self.weights.new_zeros(2, len(self.weights))
            # the first share goes straight into its place
            slope = gradient if gradient is None or not share else torch.zeros_like(gradient)
            with torch.set_grad_enabled(slope is not None):
                for job in shares[share]:
                    chunk = chunks[job]
                    found = self._visit(chunk, factors[chunk.terms], known, slope)
                    squares[:, chunk.terms] += found
            return squares, squares if slope is None else slope

        if gradient is not None:
            gradient.zero_()
        found = run_shares(work, len(shares), single=threads == 1)
        squares, _ = found[0]
        for others, _ in found[1:]:  # in order, so the same every time
            squares += others
        if gradient is not None:
            for _, slope in found[1:]:
                gradient += slope
            self._chain(gradient, coefficients)
        return squares * self.means

    def _chain(self, gradient: Tensor, coefficients: dict[str, Tensor]) -> None:
        """From slopes in the learned coefficients, last in the vector, to those in parameters."""
        for i, (name, value) in enumerate(coefficients.items(), start=-len(coefficients)):
            (slope,) = torch.autograd.grad(value, self.model.unknowns[name])
            gradient[i] *= slope

    def _visit(
        self, chunk: Chunk, factors: Tensor, leaves: list[Tensor], slope: Tensor | None
    ) -> Tensor:
        """Sums of squares over a chunk, shape (2, 1) or (2, terms of its block); see `_run`.

        What factors times the residuals pull, in the network's parameters and in the leaves, is
        added to `slope`.
        """
        block, problem, network = chunk.block, self.model.problem, self.model.network
        features = features_of(problem)
        inputs = chunk.known_inputs(features)
        carried = self.engine.carry(network, features, chunk.points, block.plan, inputs)
        residuals = self._evaluator.at(chunk, carried.table, leaves)
        factors = factors.expand(residuals.count)
        if self.attention is None or block is not self.blocks[0]:
            squares, found = residuals.squares(factors, slope is not None)
            sums = squares.expand(2, -1)
        else:
            values = residuals.values
            minimised = self._attended(values, chunk)
            both = torch.stack([values.square(), values * minimised])
            sums = both.sum(2, dtype=self.weights.dtype)
            found = None
            if slope is not None:
                found = residuals.pull(factors.to(values).unsqueeze(1) * minimised)
        if slope is not None and found is not None:
            self._add(found, carried, leaves, slope)
        return sums if block.name == "residual" else sums.sum(1, keepdim=True)

    def _attended(self, values: Tensor, chunk: Chunk) -> Tensor:
        """Residuals, shape (R, n), times the squares of their points' factors."""
        assert self.attention is not None
        assert self.sizes is not None
        self.sizes[chunk.span] = values.norm(dim=0)
        return values * self.attention[chunk.span].square()

    @staticmethod
    def _add(found: Found, carried: Carried, leaves: list[Tensor], slope: Tensor) -> None:
        """Add to `slope` what cotangents of table and leaves mean to parameters and leaves."""
        table, direct = found
        behind = len(slope) - len(leaves)
        through: Sequence[Tensor | None] = ()
        if table is not None:
            through = carried.add_gradient(table, slope[:behind], leaves)
        for pulls in (direct, through):
            for i, value in enumerate(pulls, start=behind):
                if value is not None:
                    slope[i] += value
