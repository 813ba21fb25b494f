"""A problem's code sees a point by itself: tried on stand-in values before anything is trained.

The code is evaluated at a few points together, again, in another order and apart, and once with
every operation followed (`pinnsig.objective.mixing`). It must give the same each time, leave what
it was given as it was, and remember nothing (`pinnsig.objective.state`): points are cut into chunks
and dealt out to threads, and what a residual is must not depend on how.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pinnsig.core.errors import ProblemError
from pinnsig.derivatives import Jet, column_jets
from pinnsig.derivatives.plan import Alpha
from pinnsig.model.fields import features_of, fields_of, guarded
from pinnsig.objective.mixing import Watch
from pinnsig.objective.state import State
from pinnsig.problem import Condition, Problem

Code = Callable[[Mapping[str, Jet], Mapping[str, Jet], Mapping[str, Tensor]], Mapping[str, Tensor]]
"""Results by name, from fields, coordinates and the sites' extra columns."""

GROUPS = 23  # of points that are followed: a prime, so that sizes tell what has a row for each
MANY = 521  # groups that are compared
ALONE = 3
ROUNDING = 1e-9
CURE = "read each point by itself; an integral has no place in it"


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
        rows = _rows(torch.as_tensor(chosen % self.groups), self.stride).to(self.points.device)
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
        rows = _rows(groups, self.stride).to(self.points.device)
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


def check_pointwise(
    problem: Problem, what: str, code: Code, standins: StandIns, condition: Condition | None = None
) -> str | None:
    """Refuse code whose value at one point depends on others, on chance or on what was before.

    Args:
        problem: whose code it is, which the code reads.
        what: the term, for messages.
        code: what is evaluated.
        standins: where.
        condition: the one that it belongs to.

    Returns:
        A notice where numbers in it have fewer digits than the points.

    Raises:
        ProblemError: it is refused, or fails.
    """
    name = type(problem).__name__

    def run() -> str | None:
        with torch.no_grad():
            watch = _follow(code, standins.few(GROUPS))
            operation = watch.read or watch.found
            many = standins.few(min(max(standins.groups, GROUPS), MANY))
            everywhere = torch.arange(many.groups)
            whole = many.evaluate(code, everywhere)
            state = State(problem, condition)
            again = many.evaluate(code, everywhere)
            if watch.random or not _same(whole, again):
                drawn = f": it draws random numbers ({watch.random})" if watch.random else ""
                raise ProblemError(
                    f"{name}: {what} gives another value each time it is evaluated{drawn or ''}; "
                    "it must be a function of the point, the fields and the coefficients"
                )
            order = torch.randperm(many.groups, generator=torch.Generator().manual_seed(0))
            half = many.groups // 2
            parts = [order, order[:half], order[half:], *order[:ALONE].split(1)]
            apart = all(
                _agree(whole, many.evaluate(code, part), part, many.groups) for part in parts
            )
            if operation or not apart:
                raise ProblemError(
                    f"{name}: {what} depends on other points{f' ({operation})' * bool(operation)}: "
                    f"its value at one point changes with those beside it; {CURE}"
                )
            if changed := state.changed():
                raise ProblemError(
                    f"{name}: {what} changes {changed} while it is evaluated, which threads share: "
                    "it must only compute, and remember nothing"
                )
        many.evaluate(code, everywhere[:GROUPS], graph=True)
        return watch.rounded

    rounded = _named(problem, what, lambda: guarded(problem, what, run))
    if rounded is None:
        return None
    return (
        f"{what}: numbers with 7 digits (torch.float32) meet those with 16 in {rounded!r}, and "
        "round the result: make them with dtype=torch.float64"
    )


class _Followed(Watch):
    found: str | None = None


def _follow(code: Code, standins: StandIns) -> _Followed:
    watch = _Followed(GROUPS)
    results = standins.evaluate(code, torch.arange(GROUPS), watch)
    mixed = (watch.mixed(result) for result in results.values())
    watch.found = next(filter(None, mixed), None)
    return watch


def _named(problem: Problem, what: str, call: Callable[[], Any]) -> Any:
    """Put the names of problem and term before messages that lack them."""
    try:
        return call()
    except ProblemError as error:
        name = type(problem).__name__
        if str(error).startswith(name):
            raise
        raise ProblemError(f"{name}: {what}: {error}") from error


def check_inputs(problem: Problem, standins: StandIns) -> None:
    """The same for the problem's features and ansatz.

    Raises:
        ProblemError: one is refused, or fails.
    """
    features = features_of(problem)
    if problem.has("features") and features is not None:

        def inputs(_: Any, at: Mapping[str, Jet], extra: Any) -> dict[str, Tensor]:
            del extra
            return {f"input {i}": jet.value for i, jet in enumerate(features(at))}

        check_pointwise(problem, "features", inputs, standins)
    if problem.ansatz_name is not None:

        def values(fields: Mapping[str, Jet], *_: Any) -> dict[str, Tensor]:
            return {name: jet.value for name, jet in fields.items()}

        check_pointwise(problem, problem.ansatz_name, values, standins)


def _rows(groups: Tensor, stride: int) -> Tensor:
    return (groups[:, None] * stride + torch.arange(stride)).flatten()


def _same(a: Mapping[str, Tensor], b: Mapping[str, Tensor]) -> bool:
    return a.keys() == b.keys() and all(
        torch.equal(a[name].nan_to_num(), b[name].nan_to_num())
        and torch.equal(a[name].isnan(), b[name].isnan())
        for name in a
    )


def _agree(
    whole: Mapping[str, Tensor], part: Mapping[str, Tensor], groups: Tensor, count: int
) -> bool:
    """Whether what was found at some groups is, within rounding, what was found at all of them."""
    if whole.keys() != part.keys():
        return False
    for name, values in whole.items():
        rows = _rows(groups, len(values) // count).to(values.device)
        expected, found = values[rows], part[name]
        if expected.shape != found.shape:
            return False
        finite = values[values.isfinite()].abs()
        scale = float(finite.max()) if finite.numel() else 0.0
        rounding = ROUNDING if values.dtype == torch.float64 else 1e-3
        if not torch.allclose(found, expected, rtol=1e3 * rounding, atol=rounding * scale,
                              equal_nan=True):  # fmt: skip
            return False
    return True


def domain_points(problem: Problem, like: Tensor) -> Tensor:
    """Points inside the domain, shape (N, dimensions), float64."""
    unit = np.random.default_rng(0).uniform(size=(MANY, problem.domain.dimensions))
    return torch.as_tensor(problem.domain.place(unit)).to(like.device)


def columns_of(extra: Mapping[str, Any], like: Tensor) -> dict[str, Tensor]:
    """A site's further columns in float64, copies."""
    return {k: torch.as_tensor(v).to(like.device, torch.float64).clone() for k, v in extra.items()}
