"""Which of the modules that are loaded import which."""

import ast
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from pinnsig.problem.fingerprint import is_own
from pinnsig.problem.statements import imported_names, parsed


def imported_modules(modules: Iterable[ModuleType]) -> list[ModuleType]:
    """Return the user's own modules that these import and those that they import in turn."""
    found: dict[str, ModuleType] = {}
    left = list(modules)
    while left:
        module = left.pop()
        file = getattr(module, "__file__", None)
        for name in imported_names(parsed(file), module.__package__ or ""):
            other = sys.modules.get(name)
            if name not in found and other is not None and is_own(name):
                found[name] = other
                left.append(other)
    return list(found.values())


def has_main_guard(path: Path) -> bool:
    """Whether a script keeps its work below `if __name__ == "__main__":`."""
    return any(
        isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'"
        for node in parsed(path).body
    )
