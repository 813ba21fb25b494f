"""Stand-in values: points, and numbers in the place of a network's partials there."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from pinnsig.core.errors import ProblemError
from pinnsig.derivatives import Jet, column_jets
from pinnsig.derivatives.plan import Alpha
from pinnsig.model.fields import fields_of
from pinnsig.objective.mixing import Watch
from pinnsig.problem import Problem

Code = Callable[[Mapping[str, Jet], Mapping[str, Jet], Mapping[str, Tensor]], Mapping[str, Tensor]]
"""Results by name, from fields, coordinates and the sites' extra columns."""

MANY = 521  # groups of points that are compared


@dataclass
class StandIns:
    """Points, and numbers in the place of the partials of a network's outputs there.

    Half of the numbers are between 0 and 1, where roots and logarithms are at home; the others are
    normally distributed.

    Attributes:
        problem: whose coordinates and outputs they are.
        points: shape (N, dimensions), float64, with whole groups of `stride` neighbours.
        extra: further columns of the points.
        stride: how many neighbours belong together.
    """

    problem: Problem
    points: Tensor
    extra: Mapping[str, Tensor]
    stride: int
    _columns: dict[tuple[int, Alpha], Tensor] = field(default_factory=dict)

    @property
    def groups(self) -> int:
        """How many there are."""
        return len(self.points) // self.stride

    def few(self, groups: int) -> "StandIns":
        """Some of them, with the same numbers over and over where there are fewer."""
        chosen = np.random.default_rng(0).permutation(max(self.groups, groups))[:groups]
        rows = rows_of(torch.as_tensor(chosen % self.groups), self.stride).to(self.points.device)
        extra = {key: column[rows] for key, column in self.extra.items()}
        return StandIns(self.problem, self.points[rows], extra, self.stride)

    def column(self, output: int, alpha: Alpha) -> Tensor:
        """A partial of a network output, shape (N,)."""
        if (output, alpha) not in self._columns:
            stream = np.random.default_rng([output, *alpha])
            n = len(self.points)
            numbers = np.where(
                np.arange(n) // self.stride % 2, stream.normal(size=n), stream.uniform(size=n)
            )
            self._columns[output, alpha] = torch.as_tensor(numbers).to(self.points)
        return self._columns[output, alpha]

    def evaluate(
        self, code: Code, groups: Tensor, watch: Watch | None = None, graph: bool = False
    ) -> dict[str, Tensor]:
        """What the code gives at some of the groups.

        Args:
            code: what is evaluated.
            groups: their numbers, in any order.
            watch: what follows it.
            graph: whether gradients flow into the partials.

        Raises:
            ProblemError: the code writes into what it was given.
        """
        rows = rows_of(groups, self.stride).to(self.points.device)
        given: list[tuple[str, Tensor, Tensor]] = []

        def lend(name: str, column: Tensor, leaf: bool = False) -> Tensor:
            own = column[rows].requires_grad_(graph and leaf)
            given.append((name, own, own.detach().clone()))
            return own if watch is None else watch.follow(own)

        def output(j: int, name: str) -> Jet:
            known: dict[Alpha, Tensor] = {}

            def part(alpha: Alpha) -> Tensor:
                if alpha not in known:
                    known[alpha] = lend(name, self.column(j, alpha), True)
                return known[alpha]

            return Jet(self.problem.domain.names, part, like)

        names = self.problem.domain.names
        columns = [lend(name, self.points[:, i]) for i, name in enumerate(names)]
        like = columns[0]
        at = column_jets(names, columns)
        extra = {key: lend(key, column) for key, column in self.extra.items()}
        with watch if watch is not None else torch.set_grad_enabled(graph):
            outputs = [output(j, name) for j, name in enumerate(self.problem.outputs)]
            found = dict(code(fields_of(self.problem, outputs, at), at, extra))
        for name, own, before in given:
            if not torch.equal(own.detach().nan_to_num(), before.nan_to_num()):
                raise ProblemError(
                    f"it changes {name} in place, which other code reads: compute a new tensor"
                )
        return found


def rows_of(groups: Tensor, stride: int) -> Tensor:
    """Return the points' numbers, shape (groups * stride,), of groups of neighbours."""
    return (groups[:, None] * stride + torch.arange(stride)).flatten()


def domain_points(problem: Problem, like: Tensor) -> Tensor:
    """Points inside the domain, shape (N, dimensions), float64."""
    generator = np.random.default_rng(0)
    points = problem.domain.sample(MANY, lambda n, dims: generator.uniform(size=(n, dims)))
    return torch.as_tensor(points).to(like.device)
