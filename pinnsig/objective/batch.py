"""Loss and gradient of several runs in one pass, each at its own weights and points.

Residuals are pointwise, so the problem's code is given the points of all members, one member after
another, and its results are taken apart again.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from pinnsig.core.cuda_graphs import GraphedCallable
from pinnsig.core.threads import run_jobs
from pinnsig.derivatives import input_partials
from pinnsig.model.fields import features_of
from pinnsig.networks import Stack, stack_key
from pinnsig.objective.blocks import BoundTerms
from pinnsig.objective.chunks import Chunk, Cutter
from pinnsig.objective.evaluation import Evaluation, evaluation
from pinnsig.objective.loss import Objective
from pinnsig.objective.residuals import Evaluator
from pinnsig.objective.weights import Weights

Asked = tuple[Objective, Weights]
"""An evaluation that is wanted: loss and gradient of an objective with weights."""

FAULTS = 3  # one after another, with which it is not a member's but the batch's own


def batch_key(objective: Objective) -> Hashable | None:
    """What objectives must have in common to make a `Batch`; None for one that goes alone.

    Alone go those that learn coefficients, whose engine carries one network at a time, whose
    gradients have to be the same bit for bit whoever is evaluated beside them, or whose points
    change.
    """
    engine, model = objective.engine, objective.model
    problem, network = model.problem, model.network
    stack = stack_key(network)
    alone = model.start or objective.deterministic or objective.refilled
    if not engine.stacks or stack is None or alone:
        return None
    values, blocks = objective.flat.values, objective.blocks
    return (
        # a user's file is imported anew by each run, so that its class is another one
        (type(problem).__module__, type(problem).__qualname__, repr(problem.values())),
        (problem.hard, problem.scaled_inputs, repr(problem.output_scales)),
        (problem.domain.lower.tobytes(), problem.domain.upper.tobytes()),
        (type(engine), stack, values.dtype, values.device),
        tuple((b.name, b.terms, b.plan, b.stride, len(b), tuple(b.extra)) for b in blocks),
    )


class Batches:
    """Evaluates objectives, those together that can be.

    What a batch is made of is kept while the same objectives come again.

    Args:
        largest: members of one batch at most.

    Attributes:
        notices: what a user should know of those that are evaluated alone.
    """

    def __init__(self, largest: int) -> None:
        self.largest = largest
        self.notices: list[str] = []
        self._keys: WeakKeyDictionary[Objective, Hashable] = WeakKeyDictionary()
        self._kept: dict[tuple[int, ...], Batch] = {}
        self._faults: dict[Hashable, int] = {}  # one after another, by key

    def evaluate(self, asked: Sequence[Asked]) -> list[Evaluation | None]:
        """What each `Objective.evaluate` would give; None for those that have to be asked alone."""
        weights = dict(asked)
        answers: dict[Objective, Evaluation] = {}
        together = [objective for objective, own in asked if own.points is None]
        batches = {tuple(map(id, batch)): batch for batch in self._batches(together)}
        # the memory of those that have had their time is free before others are made
        self._kept = {name: batch for name, batch in self._kept.items() if name in batches}
        for name, members in batches.items():
            key = self._keys[members[0]]
            try:
                if name not in self._kept:
                    self._kept[name] = Batch(members)
                found = self._kept[name].evaluate([weights[member] for member in members])
                answers.update(zip(members, found, strict=True))
                self._faults.pop(key, None)
            except torch.OutOfMemoryError:
                self._kept.pop(name, None)
                self.largest = len(members) // 2
            except Exception:  # evaluated alone, each meets its own fault
                self._kept.pop(name, None)
                self._faults[key] = self._faults.get(key, 0) + 1
        for objective in answers:
            objective.evaluations += 1
        return [answers.get(objective) for objective, _ in asked]

    def _batches(self, objectives: Sequence[Objective]) -> Iterator[list[Objective]]:
        groups: dict[Hashable, list[Objective]] = {}
        for objective in objectives:
            if objective not in self._keys:
                self._keys[objective] = batch_key(objective)
                self._note(objective)
            groups.setdefault(self._keys[objective], []).append(objective)
        for key, group in groups.items():
            if key is None or self._faults.get(key, 0) >= FAULTS:
                continue
            for start in range(0, len(group), max(self.largest, 1)):
                members = group[start : start + self.largest]
                if len(members) > 1:
                    yield members

    def _note(self, objective: Objective) -> None:
        network = objective.model.network
        if stack_key(network) is None:
            text = (
                f"runs of a {type(network).__name__} are evaluated one at a time: together they "
                "take as long as one after another"
            )
            if text not in self.notices:
                self.notices.append(text)


class Batch:
    """Objectives of one key, evaluated together.

    Args:
        objectives: the members, two or more.

    Attributes:
        recorded: the work, which a GPU replays while the batch stays as it is.
    """

    def __init__(self, objectives: Sequence[Objective]) -> None:
        self.objectives = list(objectives)
        first = self.objectives[0]
        self.problem, self.engine = first.model.problem, first.engine
        self.values = torch.stack([o.flat.values for o in self.objectives])
        networks = [o.model.network for o in self.objectives]
        self.stack = Stack(networks, self.values)
        self.residuals = Evaluator(self.problem, first.blocks, self.values)
        self.conditions = self.problem.terms()
        self.weights = torch.stack([o.weights.terms for o in self.objectives])
        cutter = Cutter(first.blocks, first.flat.parameters, len(self.objectives))
        self.threads = cutter.threads()
        places = {block.name: place for place, block in enumerate(first.blocks)}
        self.means = first.means
        joined = [self._joined(chunk, places[chunk.block.name]) for chunk in cutter.chunks()]
        self.groups = cutter.groups(tuple(joined), self.threads)
        self.recorded = GraphedCallable(self._run, self.values.device)

    def evaluate(self, weights: Sequence[Weights]) -> list[Evaluation]:
        """Set every member's `flat.gradient`, with the weights of each."""
        torch.stack([own.terms for own in weights], out=self.weights)
        found = self.recorded()
        assert found is not None
        pairs = zip(found, weights, strict=True)
        return [evaluation(terms.expand(2, -1), own) for terms, own in pairs]

    def _run(self) -> Tensor:
        """Mean squares of all terms, shape (M, terms), and every member's gradient."""
        torch.stack([o.flat.values for o in self.objectives], out=self.values)
        factors = 2 * self.weights * self.means  # half the slopes of squares
        squares, slopes = torch.zeros_like(factors), torch.zeros_like(self.values)

        def work(group: int) -> tuple[Tensor, Tensor]:
            own, slope = torch.zeros_like(factors), torch.zeros_like(self.values)
            bound = BoundTerms.of(self.problem.bound({}), self.conditions)
            with torch.enable_grad():
                for chunk in self.groups[group]:
                    found = self._visit(chunk, bound, factors[:, chunk.terms], slope)
                    own[:, chunk.terms] += found
            return own, slope

        def collect(found: tuple[Tensor, Tensor]) -> None:
            squares.add_(found[0])
            slopes.add_(found[1])

        run_jobs(work, len(self.groups), self.threads, collect, single=self.threads == 1)
        for objective, slope in zip(self.objectives, slopes, strict=True):
            objective.flat.gradient.copy_(slope)
        return squares * self.means

    def _joined(self, chunk: Chunk, place: int) -> Chunk:
        """A chunk of the first member's points with those of all others behind it."""
        blocks = [objective.blocks[place] for objective in self.objectives]
        points = torch.cat([block.points[chunk.span] for block in blocks])
        extra = {
            key: torch.cat([block.extra[key][chunk.span] for block in blocks])
            for key in chunk.block.extra
        }
        block = replace(chunk.block, points=points, extra=extra)
        return Chunk(block, slice(0, len(points)), chunk.terms)

    def _visit(self, chunk: Chunk, bound: BoundTerms, factors: Tensor, slopes: Tensor) -> Tensor:
        """Sums of squares over a joined chunk, shape (M, 1) or (M, terms of its block).

        What factors, shape (M, terms of the block), times the residuals pull is added to `slopes`,
        shape (M, P).
        """
        block, features = chunk.block, features_of(bound.problem)
        inputs = chunk.known_inputs(features)
        if inputs is None:
            inputs = input_partials(features, chunk.points, block.plan)
        carried = self.engine.carry_stack(self.stack, inputs, block.plan)
        residuals = self.residuals.at(chunk, carried.table, bound, ())
        values = residuals.values.unflatten(1, (len(self.objectives), -1))
        table, _ = residuals.pullback((factors.to(values).T.unsqueeze(2) * values).flatten(1))
        if table is not None:
            carried.add_gradient(table, slopes, ())
        sums = values.square().sum(2, dtype=factors.dtype).T
        return block.by_term(sums)
