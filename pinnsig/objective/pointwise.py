"""A problem's code sees a point by itself: tried on stand-in values before anything is trained.

The code is evaluated at a few points together, again, in another order and apart, and once with
every operation followed (`pinnsig.objective.mixing`). It must give the same each time, leave what
it was given as it was, and remember nothing (`pinnsig.objective.state`): points are cut into chunks
and dealt out to threads, and what a residual is must not depend on how.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from pinnsig.core.errors import ProblemError
from pinnsig.derivatives import Jet
from pinnsig.model.fields import features_of, guarded
from pinnsig.objective.mixing import Watch
from pinnsig.objective.stand_ins import MANY, Code, StandIns, rows_of
from pinnsig.objective.state import State
from pinnsig.problem import Condition, Problem

GROUPS = 23  # of points that are followed: a prime, so that sizes tell what has a row for each
ALONE = 3
ROUNDING = 1e-9
CURE = "read each point by itself; integrals are conditions of their own, Integral and Mean"


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
            most = max(MANY // standins.stride, GROUPS)
            many = standins.few(min(max(standins.groups, GROUPS), most))
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
        rows = rows_of(groups, len(values) // count).to(values.device)
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
