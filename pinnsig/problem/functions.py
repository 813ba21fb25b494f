"""Unknown functions of some coordinates, found by training together with the fields."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor

from pinnsig.core.errors import ProblemError
from pinnsig.problem.bijections import Bijection
from pinnsig.problem.binding import call_by_name
from pinnsig.problem.coefficients import limits_of

Truth = Callable[..., Any] | str


class Function:
    """An unknown function of some coordinates, such as a conductivity k(x): an inverse problem.

    An attribute of a problem's class, `k = Function("k", of="x", above=0.0)`. Residual, conditions,
    data and ansatz read it as a parameter of its name, as they read a field: `k`, `k.x`. It is a
    network of its own that sees its coordinates only, so that its other partials are exactly 0.

    Args:
        name: the attribute's own.
        of: the coordinates that it depends on.
        above: exclusive lower limit.
        minimum: inclusive lower limit.
        maximum: inclusive upper limit.
        start: a value that it is near at first; by default 0, or 1 from its limit, or the middle
            of its limits.
        true: what it is in truth, if that is known: a function of its coordinates, or the name of
            the problem's method that is one.
        depth: hidden layers of its network.
        width: units in each.

    Raises:
        ProblemError: no coordinates, limits that leave nothing between them, a start outside of
            them, or sizes that are no positive whole numbers.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        of: str | Sequence[str],
        above: float | None = None,
        minimum: float | None = None,
        maximum: float | None = None,
        start: float | None = None,
        true: Truth | None = None,
        depth: int = 2,
        width: int = 10,
    ) -> None:
        self.name = name or "a function"  # until it has one
        self.given = name
        self.of = (of,) if isinstance(of, str) else tuple(of)
        if not self.of or len(set(self.of)) < len(self.of):
            raise ProblemError(f"{self.name}: of={of!r} must name its coordinates, each once")
        lower, upper = limits_of(above, minimum, maximum)
        if not lower < upper:
            raise ProblemError(f"{self.name}: nothing lies between {lower:g} and {upper:g}")
        at = _usual_start(lower, upper) if start is None else start
        if not lower < at < upper or not math.isfinite(at):
            raise ProblemError(
                f"{self.name}: start={at:g} must lie strictly between its limits, {lower:g} and "
                f"{upper:g}"
            )
        for what, size in (("depth", depth), ("width", width)):
            if isinstance(size, bool) or not isinstance(size, int) or size < 1:
                raise ProblemError(f"{self.name}: {what}={size!r} must be a whole number above 0")
        if true is not None and not callable(true) and not isinstance(true, str):
            raise ProblemError(
                f"{self.name}: true={true!r:.60} must be a function of {', '.join(self.of)}"
            )
        self.bijection = Bijection(float(at), lower, upper, above == lower, False)
        self.true, self.depth, self.width = true, depth, width

    def __set_name__(self, owner: type, name: str) -> None:
        del owner
        self.name = name

    def value(self, raw: Any) -> Any:
        """Return it from its network's output: a tensor of shape (N,), or a jet."""
        return self.bijection.smooth(raw)

    def true_values(self, problem: Any, columns: Mapping[str, Tensor]) -> Tensor | None:
        """Return its true values at points, float64 of shape (N,); None where they are not known.

        Args:
            problem: whose coefficients, at their true values, the true function may name.
            columns: coordinates by name, float64, each of shape (N,).

        Raises:
            ProblemError: the true function fails to give a real tensor of that shape.
        """
        if self.true is None:
            return None
        what = f"{type(problem).__name__}: the true {self.name}"
        call = getattr(problem, self.true, None) if isinstance(self.true, str) else self.true
        if not callable(call):
            raise ProblemError(f"{what}: {self.true!r} names no method")
        settings = {name: getattr(problem, name) for name in problem.settings()}
        own = {name: columns[name] for name in self.of}
        found = call_by_name(call, own, what, settings)
        like = own[self.of[0]]
        if not isinstance(found, Tensor):
            if isinstance(found, bool) or not isinstance(found, int | float):
                raise ProblemError(f"{what} must be a tensor, not {type(found).__name__}")
            return like.new_full(like.shape, float(found))
        if found.ndim and found.shape != like.shape:
            raise ProblemError(
                f"{what} must have shape {tuple(like.shape)}, not {tuple(found.shape)}"
            )
        return found.double() * like.new_ones(like.shape)

    @property
    def learning(self) -> str:
        """What it is, in words: "function of x, learned, starts near 1"."""
        known = "" if self.true is None else ", true one known"
        near = f"{self.bijection.start:g}"
        return f"function of {', '.join(self.of)}, learned, starts near {near}{known}"


def _usual_start(lower: float, upper: float) -> float:
    """A value well inside of limits."""
    if math.isfinite(lower) and math.isfinite(upper):
        return 0.5 * (lower + upper)
    if math.isfinite(lower):
        return lower + 1.0
    return upper - 1.0 if math.isfinite(upper) else 0.0
