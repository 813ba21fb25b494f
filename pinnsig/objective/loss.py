"""The loss: named mean squares over points, weighted and summed, with its gradient."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from pinnsig.errors import SettingsError
from pinnsig.jets import Engine, choose_engine
from pinnsig.model import Model
from pinnsig.objective.blocks import Block, make_blocks
from pinnsig.objective.capture import Recorded
from pinnsig.objective.workers import balance, run_shares
from pinnsig.parameters import FlatParameters
from pinnsig.problem import Sites

# Stack elements (partials x points x width) carried at once: on a CPU few enough to stay in cache,
# elsewhere as many as memory holds through all layers
CHUNK_ELEMENTS_CPU = 2**18
CHUNK_ELEMENTS_ALL_LAYERS = 2**30

# Stack elements over all layers; with fewer, threads mostly wait for their turn in Python
ELEMENTS_PER_THREAD = 2**21


@dataclass(frozen=True)
class Evaluation:
    """The loss, shape (), and its unweighted mean squares, shape (terms,)."""

    loss: Tensor
    terms: Tensor


@dataclass(frozen=True)
class Chunk:
    """Some of a block's points, and where its terms stand among all terms."""

    block: Block
    points: slice
    terms: slice

    @property
    def cost(self) -> float:
        """Work in it, in arbitrary units."""
        return len(self.block.plan) * (self.points.stop - self.points.start)


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
        self.evaluations = 0
        # of the collocation points, shape (N,): factors on their residuals, and these' sizes
        self.attention: Tensor | None = None
        self.sizes: Tensor | None = None
        self._recorded = Recorded(
            lambda: self._run(self.flat.gradient, self._chunks()), self.flat.values.device
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
        return self._evaluation(self._recorded())

    @torch.no_grad()
    def losses(self) -> Evaluation:
        """The loss at the present parameters, without its gradient and not counted."""
        return self._evaluation(self._run(None, self._chunks()))

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
        other = Objective(
            self.model, self.engine_name, sites or self.sites, given, self.deterministic
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
        longest = CHUNK_ELEMENTS_CPU // self._size()[0]
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
            within = [c for c in self._chunks() if c.terms.start <= i < c.terms.stop]
            self._run(gradient, within)
        self.weights.copy_(weights)
        return found

    def non_finite_terms(self) -> list[str]:
        """Names of the terms whose loss or gradient is not finite at the present parameters."""
        found = []
        for block in self.blocks:
            gradient = torch.empty_like(self.flat.values)
            chunks = [chunk for chunk in self._chunks() if chunk.block is block]
            terms = self._run(gradient, chunks)
            if not (terms.isfinite().all() and gradient.isfinite().all()):
                found.append(block.name)
        return found

    def _run(self, gradient: Tensor | None, chunks: list[Chunk]) -> Tensor:
        """Mean squares of all terms, and the loss's gradient if there is room for it.

        Returns:
            Shape (2, terms): as they are, and with factors of points, as they are minimised.
        """
        shares = balance([chunk.cost for chunk in chunks], self._threads())
        shares = [share for share in shares if share]
        coefficients = self.model.coefficients()
        # the threads stop at these; what lies behind them belongs to no single thread
        leaves = {name: value.detach().requires_grad_() for name, value in coefficients.items()}
        self.model.problem.bind(leaves)
        wanted = [*self.model.network.parameters(), *leaves.values()]

        def work(share: int) -> tuple[Tensor, Tensor]:
            terms = self.weights.new_zeros(2, len(self.weights))
            slope = torch.zeros_like(self.flat.values)
            parts = slope.split([leaf.numel() for leaf in wanted])
            with torch.set_grad_enabled(gradient is not None):
                for job in shares[share]:
                    squares = self._squares(chunks[job])
                    terms[:, chunks[job].terms] += squares.detach()
                    if gradient is not None:
                        loss = (self.weights[chunks[job].terms] * squares[1]).sum()
                        for part, found in zip(parts, _slopes(loss, wanted), strict=True):
                            if found is not None:
                                part += found.reshape(-1)
            return terms, slope

        found = run_shares(work, len(shares))
        if gradient is not None:
            gradient.zero_()
            for _, slope in found:  # in order, so the same every time
                gradient += slope
            self._chain(gradient, coefficients)
        return sum((t for t, _ in found), self.weights.new_zeros(2, len(self.weights)))

    def _chain(self, gradient: Tensor, coefficients: dict[str, Tensor]) -> None:
        """From slopes in the learned coefficients, last in the vector, to those in parameters."""
        for i, (name, value) in enumerate(coefficients.items(), start=-len(coefficients)):
            (slope,) = torch.autograd.grad(value, self.model.unknowns[name])
            gradient[i] *= slope

    def _squares(self, chunk: Chunk) -> Tensor:
        """A chunk's share of its block's mean squares, shape (2, terms of block); see `_run`."""
        block = chunk.block
        extra = {key: column[chunk.points] for key, column in block.extra.items()}
        fields, at = self.model.fields(self.engine, block.points[chunk.points], block.plan)
        residuals = block.residual(fields, at, extra)
        rows = [list(residuals.values())] * 2
        if self.attention is not None and self.sizes is not None and block is self.blocks[0]:
            factors = self.attention[chunk.points]
            rows[1] = [factors * r for r in rows[0]]
            self.sizes[chunk.points] = torch.stack(rows[0]).detach().norm(dim=0)
        wide = self.weights.dtype
        sums = [torch.stack([r.square().sum(dtype=wide) for r in row]) for row in rows]
        squares = torch.stack(sums) * (block.stride / len(block))
        return squares if block.name == "residual" else squares.sum(1, keepdim=True)

    def _chunks(self) -> list[Chunk]:
        """All points in chunks: small enough for the cache, and no fewer than there are threads."""
        cpu, threads = self.flat.values.device.type == "cpu", self._threads()
        width, layers = self._size()
        room = CHUNK_ELEMENTS_CPU if cpu else CHUNK_ELEMENTS_ALL_LAYERS // layers
        found, first = [], 0
        for block in self.blocks:
            longest = max(room // (len(block.plan) * width), 64)
            count = max(math.ceil(len(block) / longest), min(threads, len(block) // 256), 1)
            length = math.ceil(len(block) / count / block.stride) * block.stride
            terms = slice(first, first + len(block.terms))
            for start in range(0, len(block), length):
                found.append(Chunk(block, slice(start, min(start + length, len(block))), terms))
            first = terms.stop
        return found

    def _threads(self) -> int:
        """How many threads share the work: as many as torch uses, but fewer for little work."""
        if self.flat.values.device.type != "cpu":
            return 1
        width, layers = self._size()
        work = sum(len(block.plan) * len(block) for block in self.blocks) * width * layers
        return min(torch.get_num_threads(), 1 + work // ELEMENTS_PER_THREAD)

    def _size(self) -> tuple[int, int]:
        """Width and number of layers of the network, or what comes nearest in another module."""
        matrices = [p for p in self.flat.parameters if p.ndim > 1]
        return max((p.shape[0] for p in matrices), default=1), max(len(matrices), 1)


def _slopes(loss: Tensor, wanted: list[Tensor]) -> tuple[Tensor | None, ...]:
    if not loss.requires_grad:  # a residual that depends on nothing that is trained
        return (None,) * len(wanted)
    return torch.autograd.grad(loss, wanted, allow_unused=True)
