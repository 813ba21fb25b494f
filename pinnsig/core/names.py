"""What the names of a problem mean, and which of them cannot stand beside each other.

A quantity is a field, or a partial derivative of one, written u.xt or u_xt; a partial is the names
of its coordinates in a row, with or without "_" between them: xx, xt, Stau, S_tau, x_1_x_2.
"""

import keyword
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

from pinnsig.core.errors import DerivativeError, ProblemError

Alpha = tuple[int, ...]
"""A multi-index: the order of a partial in each coordinate."""

KEYWORDS = ("self", "on", "name", "hard", "outside")
"""Words that methods and conditions take beside fields and coordinates."""

ATTRIBUTES = (
    "part", "tensor", "value", "shifted", "apply", "coordinates", "like", "lift",
    "detached", "with_parts", "call", "without_partials",
)  # fmt: skip
FUNCTIONS = (
    "abs", "absolute", "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan",
    "arctan2", "arctanh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "clamp",
    "clamp_max", "clamp_min", "clip", "clone", "cos", "cosh", "deg2rad", "detach", "digamma",
    "elu", "erf", "erfc", "erfinv", "exp", "exp2", "expit", "expm1", "fix", "float_power",
    "floor", "frac", "gelu", "hypot", "leaky_relu", "lgamma", "log", "log10", "log1p", "log2",
    "log_sigmoid", "logaddexp", "logit", "logsigmoid", "maximum", "minimum",
    "mish", "neg", "negative", "positive", "pow", "rad2deg", "reciprocal", "relu", "remainder",
    "round", "rsqrt", "sgn", "sigmoid", "sign", "silu", "sin", "sinc", "sinh", "softplus",
    "softsign", "sqrt", "square", "tan", "tanh", "trunc",
)  # fmt: skip
"""What a field knows already, as in u.value and u.exp(): no partial can be called so."""


@lru_cache(maxsize=4096)
def parse_partial(text: str, coordinates: tuple[str, ...]) -> Alpha | None:
    """Return the multi-index that a name such as xx, xt or S_tau means; None if it means none.

    Raises:
        DerivativeError: the name can be read in two ways.
    """

    def readings(rest: str, joined: bool) -> Iterator[tuple[str, ...]]:
        if not rest:
            yield ()
        if joined and rest.startswith("_"):
            rest = rest[1:]
        for name in coordinates:
            if rest.startswith(name):
                yield from ((name, *more) for more in readings(rest[len(name) :], True))

    found = {tuple(map(reading.count, coordinates)) for reading in readings(text, False)}
    found.discard((0,) * len(coordinates))
    if len(found) > 1:
        raise DerivativeError(
            f"partial {text!r} can be read in {len(found)} ways in the coordinates "
            f"{', '.join(coordinates)}: rename a coordinate"
        )
    return found.pop() if found else None


def partial_name(alpha: Alpha, coordinates: tuple[str, ...]) -> str:
    """Return the name of a multi-index, such as xxt or S_tau; "1" for the value itself."""
    row = [name for name, k in zip(coordinates, alpha, strict=True) for _ in range(k)]
    text = ""
    for before, name in zip(["", *row], row, strict=False):
        text += "_" * (bool(before) and max(len(before), len(name)) > 1) + name
    return text or "1"


def parse_quantity(
    text: str, fields: Sequence[str], coordinates: Sequence[str]
) -> tuple[str, Alpha]:
    """Return the field and the multi-index that a name such as u, u.x, u_xt or u_re_x_1 means.

    A field's own name comes first, whatever else it could mean.

    Raises:
        DerivativeError: it means none, or can be read in two ways.
    """
    if text in fields:
        return text, (0,) * len(coordinates)
    known = ", ".join(coordinates)
    found = []
    for field in fields:
        if text.startswith((f"{field}.", f"{field}_")):
            alpha = parse_partial(text[len(field) + 1 :], tuple(coordinates))
            found += [] if alpha is None else [(field, alpha)]
    if not found:
        raise DerivativeError(
            f"{text!r} is no field or partial: fields {', '.join(fields)}, coordinates {known} "
            "(write u, and u.xt or u_xt for a partial)"
        )
    if len(found) > 1:
        raise DerivativeError(
            f"{text!r} can be read as a partial of {' and of '.join(field for field, _ in found)}: "
            f"write it as {found[0][0]}.{text[len(found[0][0]) + 1 :]}"
        )
    return found[0]


def check_name(name: object, what: str) -> None:
    """Refuse a name that no parameter of a method and no keyword of a condition can have.

    Args:
        name: of a field or a coordinate.
        what: field or coordinate.

    Raises:
        ProblemError: says why.
    """
    if not isinstance(name, str) or not name.isidentifier() or name.startswith("_"):
        why = "it must be a plain name of letters, digits and _"
    elif keyword.iskeyword(name):
        why = "it is a word of Python"
    elif name in KEYWORDS:
        why = "it is a parameter of methods or of conditions"
    elif unicodedata.normalize("NFKC", name) != name:
        why = f"Python reads it as {unicodedata.normalize('NFKC', name)!r}"
    else:
        return
    raise ProblemError(f"{what} name {name!r} cannot be used: {why}; choose another")


def check_coordinates(names: tuple[str, ...]) -> None:
    """Refuse coordinates whose partials could be mistaken, for each other or for something else.

    Raises:
        ProblemError: says which, and what to rename.
    """
    for name in names:
        check_name(name, "coordinate")
    twice = _read_twice(names)
    if twice is not None:
        raise ProblemError(
            f"coordinates {', '.join(names)}: the partial {twice!r} can be read in two ways: "
            "rename a coordinate"
        )
    for taken in (*ATTRIBUTES, *FUNCTIONS):
        if parse_partial(taken, names) is not None:
            raise ProblemError(
                f"coordinates {', '.join(names)}: u.{taken} would be a partial, and is what every "
                "field knows already: rename a coordinate"
            )


def check_names(fields: Sequence[str], coordinates: tuple[str, ...], others: Sequence[str]) -> None:
    """Refuse fields, coordinates and coefficients that cannot be told apart.

    Args:
        fields: names of the fields.
        coordinates: names of the coordinates, which suit each other.
        others: names of coefficients and choices.

    Raises:
        ProblemError: says which, and what to rename.
    """
    for field in fields:
        check_name(field, "field")
    named = [*fields, *coordinates, *others]
    clash = next((name for name in named if named.count(name) > 1), None)
    if clash is not None:
        raise ProblemError(
            f"{clash!r} is the name of two things: fields, coordinates and coefficients need names "
            "of their own"
        )
    normals = [f"normal_{name}" for name in coordinates]
    for name in named:
        if name in normals:
            raise ProblemError(f"{name!r} is the name of a normal: choose another")
    for name in (*fields, *coordinates):
        for field in fields:
            rest = name.removeprefix(f"{field}_")
            if rest != name and parse_partial(rest, coordinates) is not None:
                raise ProblemError(
                    f"{name!r} would also be the partial {field}.{rest}: rename it, or {field}"
                )
    _check_partials(fields, coordinates)


def _check_partials(fields: Sequence[str], coordinates: tuple[str, ...]) -> None:
    """Refuse fields of which partials of first or second order have one name, as u_a and u may."""
    if not any("_" in name for name in coordinates):
        return
    partials = [*coordinates, *(a + b for a in coordinates for b in coordinates)]
    for longer in fields:
        for shorter in fields:
            rest = longer.removeprefix(f"{shorter}_")
            for partial in partials if rest != longer else ():
                if parse_partial(f"{rest}_{partial}", coordinates) is not None:
                    raise ProblemError(
                        f"{longer}_{partial} could be a partial of {longer} or of {shorter}: "
                        "rename a field"
                    )


def _read_twice(names: tuple[str, ...]) -> str | None:
    """Return a row of coordinates that can be read in two ways; None if each has one reading.

    By the dangling suffixes of Sardinas and Patterson (1953): what one reading is ahead of the
    other is followed until it is a name itself, or all possibilities are seen.
    """
    words = [*names, *(f"_{name}" for name in names)]
    ahead = [
        (longer[len(name) :], longer)
        for name in names
        for longer in names
        if longer != name and longer.startswith(name)
    ]
    seen = {rest for rest, _ in ahead}
    while ahead:
        rest, text = ahead.pop()
        for word in words:
            if word == rest:
                return text
            if word.startswith(rest):
                more = (word[len(rest) :], text + word[len(rest) :])
            elif rest.startswith(word):
                more = (rest[len(word) :], text)
            else:
                continue
            if more[0] not in seen:
                seen.add(more[0])
                ahead.append(more)
    return None
