"""Rules printed as a Python function on tensors that allocates little: buffers are used again."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from pinnsig.activations.ir import BY_PRODUCTS, Expr, const, make, rewrite, schedule, uses

Factors = Mapping[tuple[int, int], Tensor]
Evaluate = Callable[[Tensor, Factors], tuple[Tensor, ...]]

_METHODS = {
    "exp": "exp", "tanh": "tanh", "arctan": "atan", "erf": "erf", "sin": "sin", "cos": "cos",
    "log1p": "log1p", "sign": "sign", "neg": "neg", "abs": "abs", "sqrt": "sqrt",
}  # fmt: skip


def compile_rules(outputs: Sequence[Expr], dtype: torch.dtype) -> Evaluate:
    """Return a function of x and the joined factors that gives the outputs, in separate memory."""
    source = print_rules(outputs, torch.finfo(dtype).max)
    space = {"torch": torch}
    exec(compile(source, "<activation>", "exec"), space)
    return space["evaluate"]  # pyright: ignore[reportReturnType]


def print_rules(outputs: Sequence[Expr], largest: float) -> str:
    """Return the source of `evaluate(x, factors)` for a type with this largest number."""
    return _Printer(_with_scaled_sums(rewrite(outputs, BY_PRODUCTS)), largest).source


def _with_scaled_sums(outputs: Sequence[Expr]) -> list[Expr]:
    """a + c b as one operation, where nothing else needs c b."""
    counts = uses(outputs)
    new: dict[Expr, Expr] = {}
    for e in schedule(outputs):
        args = tuple(new[a] for a in e.args)
        new[e] = make(e.op, *args, value=e.value)
        if e.op not in ("add", "sub"):
            continue
        sign = 1.0 if e.op == "add" else -1.0
        (left, right), (a, b) = e.args, args
        if _is_scaled(right) and counts[right] == 1:
            scale, inner = sign * _scale(b), _inner(b)
            if left.op == "const":
                new[e] = make("add", make("mul", inner, const(scale)), a)
            else:
                new[e] = make("add_scaled", a, inner, value=scale)
        elif e.op == "add" and _is_scaled(left) and counts[left] == 1 and right.op != "const":
            new[e] = make("add_scaled", b, _inner(a), value=_scale(a))
    return [new[e] for e in outputs]


def _is_scaled(e: Expr) -> bool:
    return e.op == "mul" and any(a.op == "const" for a in e.args)


def _scale(e: Expr) -> float:
    return next(a.value for a in e.args if a.op == "const")


def _inner(e: Expr) -> Expr:
    first, second = e.args
    return second if first.op == "const" else first


class _Printer:
    """Statements one by one; a variable is a buffer, which an operation may take over."""

    def __init__(self, outputs: Sequence[Expr], largest: float) -> None:
        self.largest = largest
        self.left = uses(outputs)
        self.names: dict[Expr, str] = {}
        self.lines: list[str] = []
        self.count = 0
        for e in schedule(outputs):
            self._print(e)
        results: list[str] = []
        for e in outputs:
            name = self._text(e)
            if e.op == "const":
                name = f"torch.full_like(x, {name})"
            elif name in results or e.op in ("x", "factor"):
                name = f"{name}.clone()"
            results.append(name)
        body = "\n".join(f"    {line}" for line in [*self.lines, f"return ({', '.join(results)},)"])
        self.source = f"def evaluate(x, factors):\n{body}\n"

    def _text(self, e: Expr) -> str:
        if e.op == "const":
            return repr(min(max(e.value, -self.largest), self.largest))
        if e.op == "x":
            return "x"
        if e.op == "factor":
            return f"factors[{e.value!r}]"
        return self.names[e]

    def _print(self, e: Expr) -> None:
        if e.op in ("x", "const", "factor"):
            return
        self.left.subtract(e.args)
        # a buffer is free where this was the last use of what it holds
        free = [a for a in dict.fromkeys(e.args) if a in self.names and self.left[a] == 0]
        taken = self._statement(e, free)
        for a in free:
            if self.names[a] != taken:
                self.lines.append(f"del {self.names[a]}")

    def _new(self, e: Expr, text: str) -> None:
        self.names[e] = name = f"v{self.count}"
        self.count += 1
        self.lines.append(f"{name} = {text}")

    def _apply(self, e: Expr, on: Expr, method: str, *more: str, free: list[Expr]) -> str | None:
        """A method of one argument, in place if its buffer is free; that buffer's name."""
        given = ", ".join(more)
        if on in free:
            name = self.names[e] = self.names[on]
            self.lines.append(f"{name}.{method}_({given})")
            return name
        self._new(e, f"{self._text(on)}.{method}({given})")
        return None

    def _statement(self, e: Expr, free: list[Expr]) -> str | None:
        args = e.args
        match e.op:
            case "div" if args[0].op == "const":
                taken = self._apply(e, args[1], "reciprocal", free=free)
                if args[0].value != 1:
                    self.lines.append(f"{self.names[e]}.mul_({self._text(args[0])})")
                return taken
            case "mul" if args[0] is args[1]:
                return self._apply(e, args[0], "square", free=free)
            case "sub" if args[0].op == "const":
                self._new(e, f"torch.rsub({self._text(args[1])}, {self._text(args[0])})")
                return None
            case "add" | "mul" if args[0].op == "const" or (free and args[0] not in free):
                return self._apply(e, args[1], e.op, self._text(args[0]), free=free)
            case "add" | "sub" | "mul" | "div":
                return self._apply(e, args[0], e.op, self._text(args[1]), free=free)
            case "add_scaled":
                alpha = f"alpha={e.value!r}"
                return self._apply(e, args[0], "add", self._text(args[1]), alpha, free=free)
            case "clamp":
                low, high = (None if b is None else self._text(const(b)) for b in e.value)
                return self._apply(e, args[0], "clamp", f"{low}, {high}", free=free)
            case "power":
                return self._apply(e, args[0], "pow", _number(e.value), free=free)
            case "root":
                return self._apply(e, args[0], "pow", repr(-1 / e.value), free=free)
            case "normal_cdf":
                self._new(e, f"{self._text(args[0])}.mul({-math.sqrt(0.5)!r}).erfc_().mul_(0.5)")
                return None
            case "where_negative":
                a, then, other = map(self._text, args)
                self._new(e, f"torch.where({a} < 0, {then}, {other})")
                return None
            case "zero_at_zero":
                mask = f"{self._text(args[0])} == 0"
                return self._apply(e, args[1], "masked_fill", mask, "0.0", free=free)
        return self._apply(e, args[0], _METHODS[e.op], free=free)


def _number(exponent: float) -> str:
    return repr(int(exponent) if exponent == int(exponent) else exponent)
