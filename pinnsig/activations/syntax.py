"""From command-line text to a Python expression tree over one variable x, without evaluation."""

from __future__ import annotations

import ast
import math
import re

from pinnsig.core.errors import ActivationError

MAX_LENGTH = 10_000
MAX_DEPTH = 200

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z_0-9]*(?:(?<=\d)\.\d+)?)"
    r"|(?P<operator>\*\*|[-+*/()]))"
)


def parse_syntax(text: str) -> ast.expr:
    """Parse text such as `2tanh(10x) + gd` into a tree of names, numbers, calls and operators.

    A multiplication sign may be left out between a number, `x` or `)` and a name or `(`. The
    decimal point of a parameter within a name, as in `softsign2.5`, becomes an underscore.

    Raises:
        ActivationError: if the text is empty, too long, nested too deeply or malformed.
    """
    if not text.strip():
        raise ActivationError("the activation expression is empty")
    if len(text) > MAX_LENGTH:
        raise ActivationError(f"the expression is longer than {MAX_LENGTH} characters")
    source = _to_python(text)
    try:
        tree = ast.parse(source, mode="eval").body
    except SyntaxError as error:
        raise ActivationError(f"cannot read {shorten(text)}: {error.msg}") from None
    except (RecursionError, MemoryError):
        raise too_deep() from None
    return tree


def too_deep() -> ActivationError:
    """Return the error for an expression of more than `MAX_DEPTH` levels."""
    return ActivationError(f"the expression is nested too deeply: at most {MAX_DEPTH} levels")


def shorten(text: str) -> str:
    """Return the text quoted, cut to what fits in one line of an error message."""
    text = " ".join(text.split())
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _to_python(text: str) -> str:
    """Write out implicit multiplications, numbers as floats and names as identifiers."""
    pieces: list[str] = []
    position, ends_factor = 0, False
    text = text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            bad = text[position:].strip()[0]
            raise ActivationError(
                f"cannot read {shorten(text)}: unexpected {bad!r}; "
                "use names, numbers, x, + - * / ** and brackets"
            )
        position = match.end()
        token = match[match.lastgroup or 0]
        if ends_factor and (match.lastgroup == "name" or token == "("):
            pieces.append("*")
        match match.lastgroup:
            case "number":
                if not math.isfinite(float(token)):
                    raise ActivationError(f"the number {shorten(token)} is out of range")
                token = repr(float(token))
                ends_factor = True
            case "name":
                token = token.replace(".", "_")
                # After any other name, only a bracket can follow, and it is a call.
                ends_factor = token in ("x", "pi")
            case _:
                ends_factor = token == ")"
        pieces.append(token)
    return " ".join(pieces)
