"""Formulas that are written with torch's functions and arithmetic, printed as C."""

import re
from typing import Any

from pinnsig.derivatives.operations import NAMED, Operation


class Expression:
    """An expression in C of the scalar type T.

    Args:
        text: with parentheses around all but names and numbers.
    """

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """A function of the table, in C."""
        name = func.__name__.strip("_")
        if name in ("zeros_like", "ones_like"):
            return float(name == "ones_like")
        return call(NAMED[name], *args)

    def __add__(self, other: Any) -> Any:
        return self if _is(other, 0) else call(NAMED["add"], self, other)

    def __radd__(self, other: Any) -> Any:
        return self if _is(other, 0) else call(NAMED["add"], other, self)

    def __sub__(self, other: Any) -> Any:
        return self if _is(other, 0) else call(NAMED["sub"], self, other)

    def __rsub__(self, other: Any) -> Any:
        return -self if _is(other, 0) else call(NAMED["sub"], other, self)

    def __mul__(self, other: Any) -> Any:
        for number, product in ((0, 0.0), (1, self), (-1, -self)):
            if _is(other, number):
                return product
        return call(NAMED["mul"], self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Expression):
            return call(NAMED["div"], self, other)
        return self * (1 / other)

    def __rtruediv__(self, other: Any) -> Any:
        return call(NAMED["reciprocal"], self) * other

    def __neg__(self) -> "Expression":
        return call(NAMED["neg"], self)

    def __abs__(self) -> "Expression":
        return call(NAMED["abs"], self)

    def __pow__(self, exponent: Any) -> Any:
        if isinstance(exponent, Expression):
            return call(NAMED["pow_number"], self, exponent)
        if exponent == -0.5:
            return 1 / self**0.5
        if exponent < 0:
            return (1 / self) ** -exponent
        whole, half = divmod(exponent, 1)
        if half not in (0, 0.5):
            return call(NAMED["pow_number"], self, exponent)
        power: Any = call(NAMED["sqrt"], self) if half else 1.0
        for _ in range(int(whole)):
            power = self * power
        return power

    def __gt__(self, other: Any) -> Any:
        return call(NAMED["gt"], self, other)

    def __ge__(self, other: Any) -> Any:
        return call(NAMED["ge"], self, other)

    def __lt__(self, other: Any) -> Any:
        return call(NAMED["lt"], self, other)

    def __le__(self, other: Any) -> Any:
        return call(NAMED["le"], self, other)


def call(operation: Operation, *operands: Any) -> Expression:
    """The value of an operation."""
    texts = dict(zip("xyw", map(write, operands), strict=False))
    value = re.sub(r"\b[xyw]\b", lambda found: texts[found[0]], operation.value)
    return Expression(f"({value})")


def write(value: Any) -> str:
    """An expression, or a number, as text."""
    return value.text if isinstance(value, Expression) else f"(T){float(value)!r}"


def write_slopes(operation: Operation) -> list[str | None]:
    """What the cotangent of the result is multiplied by for each operand, of x, y, w and z.

    None where no gradient flows.
    """
    operands = [Expression(name) for name in "xyw"[: len(operation.operands)]]
    result = Expression("z")
    if operation.derivatives is not None:
        slopes = [operation.derivatives(*operands, 1)]  # type: ignore[arg-type]
    else:
        slopes = [by and by(*operands, result) for by in operation.slopes]
    value = call(operation, *operands).text
    return [None if _is(s, 0) or s is None else write(s).replace(value, "z") for s in slopes]


def _is(value: Any, number: float) -> bool:
    return isinstance(value, int | float) and value == number
