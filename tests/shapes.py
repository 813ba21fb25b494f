"""Makes modules imported from now on check the shapes that signatures name (`pinnsig.core.types`).

That costs tests a fifth more time, so they run without; `pytest -p tests.shapes FILES` runs some
with it, and `tests/core/test_types.py` small runs.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

from beartype import beartype
from jaxtyping import AbstractArray, install_import_hook

ROOT = Path(__file__).parent.parent
NAMING = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in sorted(ROOT.glob("pinnsig/**/*.py"))
    if "\nfrom pinnsig.core.types import " in path.read_text(encoding="utf-8")
]
"""The modules that name shapes."""


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """Check those annotations that name a shape; the other ones are pyright's."""
    hints = function.__annotations__
    function.__annotations__ = {name: hint for name, hint in hints.items() if names_shape(hint)}
    return beartype(function) if function.__annotations__ else function


def names_shape(hint: Any) -> bool:
    """Whether an annotation is a shape or has one in it."""
    array = isinstance(hint, type) and issubclass(hint, AbstractArray)
    return array or any(map(names_shape, get_args(hint)))


install_import_hook(NAMING, f"{__name__}.checked")
