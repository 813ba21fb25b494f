"""The loss: named mean squares over points, weighted and summed, with its gradient."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from pinnsig.core.errors import TrainingError
from pinnsig.core.parameters import FlatParameters
from pinnsig.core.types import Column, Flat, Points, TermGradients, WeightedTerms
from pinnsig.derivatives import Engine, choose_engine
from pinnsig.derivatives.compiled import compiler_notice, find_interpreter
from pinnsig.model import Model
from pinnsig.model.fields import fields_at
from pinnsig.objective.blocks import Block, BoundTerms, make_blocks
from pinnsig.objective.chunks import Chunk
from pinnsig.objective.evaluation import Evaluation, GradientEvaluation, evaluation
from pinnsig.objective.passes import Passes
from pinnsig.objective.residuals import Cotangents, Residuals
from pinnsig.objective.weights import Weights, term_weights
from pinnsig.problem import Sites


class Objective:
    """loss = sum over terms of weight * mean(residual^2), at the parameters as they stand.

    It holds what stays the same: model, engine, points, the weights given by the user. Weights that
    change come with each evaluation. On a CPU the points are cut into chunks that are dealt out to
    as many threads as torch is set to use; the result is the same bit for bit whenever that number
    is the same.

    Args:
        model: what is trained.
        engine: how partials are taken, or the name of an engine (`choose_engine`).
        sites: points by term (`pinnsig.sampling.draw_sites`).
        weights: factors by term or by group of terms (`initial`, `boundary`, `data`); 1 where not
            given.
        deterministic: choose an engine whose gradients are the same bit for bit every time.
        checked: whether the problem's code is known to be right (`make_blocks`).
        sizes: of terms, by which their residuals are divided in the loss; 1 where not given.
        totals: points of each term in all, where these are a share of them (`make_blocks`).

    Attributes:
        weights: what an evaluation takes that is given no others.
        refilled: whether its points change (`refill`), so that none of them is to be copied.

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
        checked: bool = False,
        sizes: Mapping[str, float] | None = None,
        totals: Mapping[str, float] | None = None,
    ) -> None:
        self.model = model
        self.sites = dict(sites)
        self.deterministic = deterministic
        self.engine_name = engine if isinstance(engine, str) else engine.name
        self.flat = FlatParameters(model.parameters())
        bound = model.bound()
        self.blocks = make_blocks(bound, sites, self.flat.values, checked, totals)
        if isinstance(engine, str):
            plans = [block.plan for block in self.blocks]
            engine = choose_engine(engine, model.network, plans, deterministic)
        self.engine = engine
        self.term_names = tuple(term for block in self.blocks for term in block.terms)
        plain = term_weights(self.term_names, bound.terms(), weights or {}, self.flat.values)
        self.sizes = dict(sizes or {})
        squares = [self.sizes.get(term, 1.0) ** 2 for term in self.term_names]
        self.size_squares = torch.tensor(squares, dtype=torch.float64).to(plain.terms)
        self.weights = Weights(plain.terms / self.size_squares)
        self.given_weights: list[float] = self.weights.terms.tolist()
        self.given = dict(weights or {})
        means = [1 / block.groups for block in self.blocks for _ in block.terms]
        self.means = torch.tensor(means, dtype=torch.float64).to(self.weights.terms)
        self.evaluations = 0
        self.refilled = False
        zeros = torch.zeros_like(self.means).repeat(2, 1)
        self.passes = Passes(model, engine, self.blocks, zeros)
        self._works: dict[bool, GradientEvaluation] = {}  # by whether points are weighted

    @property
    def notices(self) -> list[str]:
        """What a user should know of how the loss is evaluated; complete after the first time."""
        found = [work.recorded.notice for work in self._works.values()]
        code = [self.engine.notice, *(block.notice for block in self.blocks)]
        if self.flat.values.device.type == "cpu":
            find_interpreter(self.flat.values.dtype)  # which every run asks for: its faults show
            found.append(compiler_notice())
        return [notice for notice in (*code, *self.passes.notices, *found) if notice]

    @property
    def interior(self) -> Block:
        """The collocation points, with the PDE's own residuals."""
        return next(block for block in self.blocks if block.is_interior)

    @property
    def collocation(self) -> Points:
        """The collocation points, all of them."""
        return self.interior.points

    @property
    def rows(self) -> int:
        """How many residuals there are in all."""
        return sum(block.rows for block in self.blocks)

    def evaluate(self, weights: Weights | None = None) -> Evaluation:
        """The loss at the present parameters; its gradient goes to `flat.gradient`.

        Raises:
            TrainingError: the model's parameters have got another type or device since.
        """
        weights = weights or self.weights
        self._check_place()
        self.evaluations += 1
        weighted = weights.points is not None
        if weighted not in self._works:
            self._works[weighted] = GradientEvaluation(self, weights)
        return self._works[weighted](weights)

    @torch.no_grad()
    def losses(self, weights: Weights | None = None) -> Evaluation:
        """The loss at the present parameters, without its gradient and not counted."""
        weights = weights or self.weights
        self._check_place()
        return evaluation(self.mean_squares(None, self.chunks(), weights), weights)

    def _check_place(self) -> None:
        if self.flat.deserted:
            parameter = self.flat.parameters[0]
            raise TrainingError(
                f"this objective was made when its model was {self.flat.values.dtype} on "
                f"{self.flat.values.device}, and that is moved to {parameter.dtype} on "
                f"{parameter.device}: make the objective anew"
            )

    def rebuild(
        self, sites: Mapping[str, Sites] | None = None, dtype: torch.dtype | None = None
    ) -> "Objective":
        """The same loss of the same model at other points, or in another precision.

        With another precision the model changes, and this objective can be used no more.
        """
        if dtype is not None:
            self.model.to(dtype)
        other = Objective(
            self.model, self.engine_name, sites or self.sites, self.given, self.deterministic,
            True, self.sizes,
        )  # fmt: skip
        other.evaluations = self.evaluations
        return other

    def refill(self, sites: Mapping[str, Sites]) -> None:
        """Put other points, as many of each term, in the places of the present ones."""
        names, like = self.model.problem.domain.names, self.flat.values
        for block in self.blocks:
            if sites[block.name] is self.sites[block.name]:
                continue
            points, extra = sites[block.name].tensors(names, like)
            block.points.copy_(points)
            for key, column in extra.items():
                block.extra[key].copy_(column)
        self.sites = dict(sites)
        self.passes.cutter.refresh()

    def of(self, model: Model) -> "Objective":
        """The same loss of another model of the same problem, whose code is known."""
        return Objective(
            model, self.engine_name, self.sites, self.given, self.deterministic, True, self.sizes
        )

    def alone(self) -> "Objective":
        """The same loss in this process alone."""
        return self

    @torch.no_grad()
    def residual_sizes(self, points: Points) -> Column:
        """Return the 2-norm of all equations' residuals over their sizes, at points inside."""
        bound, block = BoundTerms.of(self.model.bound()), self.interior
        problem, residual = bound.problem, bound.residuals[block.name]
        sizes = []
        for part in points.to(self.flat.values).split(self.chunks()[0].span.stop):
            fields, at = fields_at(problem, self.model.network, self.engine, part, block.plan)
            found = residual(fields, at, {})
            squares = [(r / self.sizes.get(name, 1.0)).square() for name, r in found.items()]
            sizes.append(torch.stack(squares).sum(0).sqrt())
        return torch.cat(sizes)

    def term_gradients(self) -> TermGradients:
        """Return the gradients of the mean squares of every term, without weights."""
        found = self.flat.values.new_zeros(len(self.term_names), len(self.flat))
        for i, gradient in enumerate(found):
            alone = torch.zeros_like(self.weights.terms)
            alone[i] = 1.0
            within = [c for c in self.chunks() if c.terms.start <= i < c.terms.stop]
            self.mean_squares(gradient, within, Weights(alone))
        return found

    def non_finite_terms(self) -> list[str]:
        """Names of the terms whose loss or gradient is not finite at the present parameters."""
        found = []
        for block in self.blocks:
            gradient = torch.empty_like(self.flat.values)
            chunks = [chunk for chunk in self.chunks() if chunk.block is block]
            terms = self.mean_squares(gradient, chunks, self.weights)
            if not (terms.isfinite().all() and gradient.isfinite().all()):
                found.append(block.name)
        return found

    def chunks(self) -> tuple[Chunk, ...]:
        """All points, cut as they are evaluated."""
        return self.passes.cutter.chunks()

    def mean_squares(
        self,
        gradient: Flat | None,
        chunks: Sequence[Chunk],
        weights: Weights,
        sizes: Column | None = None,
    ) -> WeightedTerms:
        """Return mean squares of all terms, and write the loss's gradient if there is room for it.

        Args:
            gradient: overwritten; None for none.
            chunks: whose squares are summed.
            weights: of terms and points.
            sizes: where the 2-norms of the residuals go if points are weighted.
        """
        factors = 2 * weights.terms * self.means  # half the slope of a square

        def take(
            chunk: Chunk, residuals: Residuals, backward: bool
        ) -> tuple[Tensor, Cotangents | None]:
            own = factors[chunk.terms].expand(residuals.count)
            if weights.points is None or not chunk.block.is_interior:
                squares, found = residuals.squares(own, backward)
                return squares.expand(2, -1), found
            values = residuals.values
            minimised = values * weights.points[chunk.span].square()
            if sizes is not None:
                own_sizes = self.size_squares[chunk.terms].sqrt().to(values).unsqueeze(1)
                sizes[chunk.span] = (values / own_sizes).norm(dim=0)
            both = torch.stack([values.square(), values * minimised]).sum(2, dtype=own.dtype)
            pulled = (
                residuals.pullback(own.to(values).unsqueeze(1) * minimised) if backward else None
            )
            return both, pulled

        return self.passes.run(gradient, chunks, take) * self.means
