"""An objective whose points several processes share: rank 0 has the first share and asks for the
others' parts of every sum."""

import itertools
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from pinnsig.core.errors import TrainingError
from pinnsig.core.ranks import Ranks, ordered_sum
from pinnsig.core.types import Column, Points, TermGradients
from pinnsig.derivatives import Engine
from pinnsig.model import Model
from pinnsig.objective.distributed.follower import Ask, Convert, Fault, Hold, Holding, Refill, Work
from pinnsig.objective.distributed.shares import Share, deal
from pinnsig.objective.evaluation import Evaluation
from pinnsig.objective.loss import Objective
from pinnsig.objective.weights import Weights
from pinnsig.problem import INTERIOR, Sites

Parts = Callable[[int], Sequence[Tensor]]
"""What only one process is sent, by its rank."""


@dataclass(frozen=True)
class Family:
    """The objectives of one model: their numbers, and of which the points are not needed more."""

    keys: Iterator[int] = field(default_factory=itertools.count)
    released: list[int] = field(default_factory=list)


class DealtObjective(Objective):
    """The same loss as `Objective`'s, within rounding, for any number of processes.

    All that is asked of it is computed by every process at its own points, and summed in float64 in
    the order of the ranks. What is about points comes back in the order of all of them. `blocks`,
    and what is made of them, are those of rank 0.

    Args:
        ranks: the processes; this one is rank 0.
        model: what is trained; the others have the same.
        engine, sites, weights, deterministic, checked, sizes: see `Objective`.
        shared: an objective at the same points, of a model of the same sizes: nothing is dealt.
        family: of the objectives of this model.
    """

    def __init__(
        self,
        ranks: Ranks,
        model: Model,
        engine: Engine | str,
        sites: Mapping[str, Sites],
        weights: Mapping[str, float] | None = None,
        deterministic: bool = False,
        checked: bool = False,
        sizes: Mapping[str, float] | None = None,
        shared: "DealtObjective | None" = None,
        family: Family | None = None,
    ) -> None:
        shares = deal(model.problem, sites, ranks.size)
        own = shares[0]
        super().__init__(
            model, engine, own.sites, weights, deterministic, checked, sizes, own.totals
        )
        self.own_sites, self.sites = self.sites, dict(sites)
        self.ranks = ranks
        self.spans = [share.spans for share in shares]
        self.holding = Holding(ranks, self)
        self.family = Family() if family is None else family
        self.key = next(self.family.keys) if shared is None else shared.key
        self.shared = shared  # which keeps the points of the others
        if shared is None:
            self._deal(shares)

    def _deal(self, shares: Sequence[Share]) -> None:
        released = tuple(self.family.released)
        self.family.released.clear()
        weakref.finalize(self, self.family.released.append, self.key)
        for rank in self.ranks.others:
            own = shares[rank]
            arguments = {
                "weights": self.given, "deterministic": self.deterministic, "checked": True,
                "sizes": self.sizes, "totals": own.totals,
            }  # fmt: skip
            self.ranks.send(rank, Hold(self.key, released, self.engine_name, own.sites, arguments))
        for _ in self._answers(None):
            pass

    # --- asking ---------------------------------------------------------------------------------

    def ask(
        self, work: Work, about: Any = None, parts: "Parts | None" = None
    ) -> Iterator[list[Tensor]]:
        """Yield what every process gives at the present parameters, in the order of the ranks.

        All answers are to be taken.

        Args:
            work: what each does.
            about: what it is told.
            parts: tensors for each of them.

        Raises:
            TrainingError: the work failed in one of them.
            RankError: one of them has ended.
        """
        parts = parts or _nothing
        for rank in self.ranks.others:
            order = Ask(self.key, work, about)
            self.ranks.send(rank, order, [self.flat.values, *parts(rank)])
        return self._answers(lambda: work(self.holding, about, list(parts(0))))

    def _answers(self, own: Callable[[], list[Tensor]] | None) -> Iterator[list[Tensor]]:
        """The answers of all; every process has given its own before any fault is raised."""
        fault: Exception | None = None
        if own is not None:
            try:
                found = own()
            except Exception as error:
                fault = error
            else:
                yield found
        for rank in self.ranks.others:
            answer, tensors = self.ranks.receive(rank)
            if isinstance(answer, Fault):
                text = f"{answer.text} (rank {rank})"
                fault = fault or (MemoryError(text) if answer.memory else TrainingError(text))
            elif fault is None:
                yield tensors
        if fault is not None:
            raise fault

    # --- the loss -------------------------------------------------------------------------------

    def evaluate(self, weights: Weights | None = None) -> Evaluation:
        """See `Objective.evaluate`."""
        weights = weights or self.weights
        self._check_place()
        found = self.ask(_evaluate, *self.asked(weights))
        losses, terms, gradients, *sizes = zip(*found, strict=True)
        self.flat.gradient.copy_(ordered_sum(gradients))
        return Evaluation(*self._sums(losses, terms), torch.cat(sizes[0]) if sizes else None)

    def losses(self, weights: Weights | None = None) -> Evaluation:
        """See `Objective.losses`."""
        weights = weights or self.weights
        self._check_place()
        found = self.ask(_losses, *self.asked(weights))
        losses, terms = zip(*found, strict=True)
        return Evaluation(*self._sums(losses, terms))

    def _sums(self, losses: Sequence[Tensor], terms: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        like = self.weights.terms
        return ordered_sum(losses)[0].to(like), ordered_sum(terms).to(like)

    def asked(self, weights: Weights) -> tuple[list[float], Parts]:
        """Return what tells every process its weights: those of terms, and of its points."""
        points = weights.points
        if points is None:
            return weights.terms.tolist(), _nothing
        return weights.terms.tolist(), lambda rank: [points[self.spans[rank][INTERIOR]]]

    def term_gradients(self) -> TermGradients:
        """See `Objective.term_gradients`."""
        parts = (part for (part,) in self.ask(_term_gradients))
        return ordered_sum(parts).to(self.flat.values)

    def residual_sizes(self, points: Points) -> Column:
        """See `Objective.residual_sizes`."""
        edges = [len(points) * rank // self.ranks.size for rank in range(self.ranks.size + 1)]
        given = points.to(self.flat.values)
        spans = [given[slice(*edge)] for edge in itertools.pairwise(edges)]
        found = self.ask(_residual_sizes, parts=lambda rank: [spans[rank]])
        return torch.cat([part for (part,) in found])

    def non_finite_terms(self) -> list[str]:
        """See `Objective.non_finite_terms`."""
        found = torch.stack([part for (part,) in self.ask(_non_finite_blocks)]).any(0).tolist()
        return [block.name for block, bad in zip(self.blocks, found, strict=True) if bad]

    # --- what it is made of -----------------------------------------------------------------------

    @property
    def collocation(self) -> Points:
        """See `Objective.collocation`."""
        return self._collocation

    @cached_property
    def _collocation(self) -> Points:
        names = self.model.problem.domain.names
        return self.sites[INTERIOR].tensors(names, self.flat.values)[0]

    @property
    def rows(self) -> int:
        """See `Objective.rows`."""
        return sum(
            block.residuals * (len(self.sites[block.name].points) // block.stride)
            for block in self.blocks
        )

    def rebuild(
        self, sites: Mapping[str, Sites] | None = None, dtype: torch.dtype | None = None
    ) -> "DealtObjective":
        """See `Objective.rebuild`."""
        if dtype is not None:
            self.model.to(dtype)
            for rank in self.ranks.others:
                self.ranks.send(rank, Convert(dtype))
        other = DealtObjective(
            self.ranks, self.model, self.engine_name, sites or self.sites, self.given,
            self.deterministic, True, self.sizes, family=self.family,
        )  # fmt: skip
        other.evaluations = self.evaluations
        return other

    def refill(self, sites: Mapping[str, Sites]) -> None:
        """See `Objective.refill`."""
        shares = deal(self.model.problem, sites, self.ranks.size)
        same = {name for name, own in sites.items() if own is self.sites[name]}
        for rank in self.ranks.others:
            own = {name: s for name, s in shares[rank].sites.items() if name not in same}
            self.ranks.send(rank, Refill(self.key, own))
        first = {name: s for name, s in shares[0].sites.items() if name not in same}
        self.sites = self.own_sites
        Objective.refill(self, {**self.own_sites, **first})
        self.own_sites, self.sites = self.sites, dict(sites)
        vars(self).pop("_collocation", None)

    def of(self, model: Model) -> "DealtObjective":
        """See `Objective.of`."""
        return DealtObjective(
            self.ranks, model, self.engine_name, self.sites, self.given, self.deterministic, True,
            self.sizes, self, self.family,
        )  # fmt: skip

    def alone(self) -> Objective:
        """See `Objective.alone`: at all points."""
        other = Objective(
            self.model, self.engine_name, self.sites, self.given, self.deterministic, True,
            self.sizes,
        )  # fmt: skip
        other.evaluations = self.evaluations
        return other


def _nothing(rank: int) -> Sequence[Tensor]:
    del rank
    return ()


# --- what every process does; on rank 0 its own part is that of the base class ------------------


def _evaluate(holding: Holding, terms: list[float], points: list[Tensor]) -> list[Tensor]:
    found = Objective.evaluate(holding.objective, holding.weights(terms, points))
    gradient = holding.objective.flat.gradient.double()
    sizes = [] if found.sizes is None else [found.sizes]
    return [found.loss.reshape(1), found.terms, gradient, *sizes]


def _losses(holding: Holding, terms: list[float], points: list[Tensor]) -> list[Tensor]:
    found = Objective.losses(holding.objective, holding.weights(terms, points))
    return [found.loss.reshape(1), found.terms]


def _term_gradients(holding: Holding, about: None, tensors: list[Tensor]) -> list[Tensor]:
    del about, tensors
    return [Objective.term_gradients(holding.objective)]


def _residual_sizes(holding: Holding, about: None, points: list[Tensor]) -> list[Tensor]:
    del about
    return [Objective.residual_sizes(holding.objective, points[0])]


def _non_finite_blocks(holding: Holding, about: None, tensors: list[Tensor]) -> list[Tensor]:
    del about, tensors
    named = Objective.non_finite_terms(holding.objective)
    return [torch.tensor([block.name in named for block in holding.objective.blocks])]
