"""Rules printed as text in a language with numbers: what C and Triton have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from pinnsig.activations.ir import Expr, schedule, uses

DEEPEST = 40  # brackets within brackets; compilers allow some 256


class SourcePrinter(ABC):
    """Writes expressions, and lines for those that are needed more than once.

    Attributes:
        lines: statements so far, which the texts refer to.
    """

    declaration: str
    """How a name is given a value, with places for both."""

    repeating: frozenset[str] = frozenset({"clamp", "power", "where_negative", "zero_at_zero"})
    """Operations whose text has an argument twice, so that it must be a name."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._count = 0

    def write(self, outputs: Sequence[Expr]) -> list[str]:
        """Return the outputs' texts."""
        counts = uses(outputs)
        for e in schedule(outputs):
            if e.op in self.repeating:
                counts.update(e.args)
        texts: dict[Expr, str] = {}
        depth: dict[Expr, int] = {}
        for e in schedule(outputs):
            text = self.leaf(e) if not e.args else self.operation(e, [texts[a] for a in e.args])
            depth[e] = 1 + max((depth[a] for a in e.args), default=0)
            if e.args and not text.isidentifier() and (counts[e] > 1 or depth[e] > DEEPEST):
                text, depth[e] = self.name(text), 0
            texts[e] = text
        return [texts[e] for e in outputs]

    def name(self, text: str) -> str:
        """Return a new name for the text."""
        name = f"q{self._count}"
        self._count += 1
        self.lines.append(self.declaration.format(name, text))
        return name

    @abstractmethod
    def leaf(self, e: Expr) -> str:
        """Return x, a number, or a factor."""

    @abstractmethod
    def operation(self, e: Expr, args: list[str]) -> str:
        """Return an operation on texts, which are names where it is `repeating`."""

    def repeated(self, base: str, exponent: int) -> str:
        """Return a power by squaring."""
        text = base
        for bit in f"{exponent:b}"[1:]:
            square = self.name(f"{text} * {text}") if text != base else f"{base} * {base}"
            text = self.name(f"{square} * {base}" if bit == "1" else square)
        return text
