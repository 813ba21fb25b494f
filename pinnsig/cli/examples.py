"""Examples in the help of every command."""

import inspect
from collections.abc import Callable
from typing import Any


def examples(*lines: str) -> Callable[[Any], Any]:
    """A decorator, below `@click.command`, that shows commands to try at the start of its help.

    Args:
        lines: whole commands, such as `pinnsig solve burgers`.
    """

    def decorate(function: Any) -> Any:
        first, _, rest = inspect.cleandoc(function.__doc__ or "").partition("\n\n")
        block = "\n".join(("\b", *(f"  {line}" for line in lines)))  # \b keeps lines as they are
        function.__doc__ = f"{first}\n\n{block}\n\n{rest}".rstrip()
        return function

    return decorate
