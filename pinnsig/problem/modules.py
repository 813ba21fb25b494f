"""What modules that are loaded import, read from their text."""

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

from pinnsig.problem.fingerprint import is_own


def imported_modules(modules: Iterable[ModuleType]) -> list[ModuleType]:
    """Return the user's own modules that these import and those that they import in turn."""
    found: dict[str, ModuleType] = {}
    left = list(modules)
    while left:
        module = left.pop()
        for name in _imported_names(module):
            other = sys.modules.get(name)
            if name not in found and other is not None and is_own(name):
                found[name] = other
                left.append(other)
    return list(found.values())


def _imported_names(module: ModuleType) -> Iterator[str]:
    """Every name that an import statement of a module may stand for."""
    for node in ast.walk(_parsed(getattr(module, "__file__", None))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = (module.__package__ or "").split(".")
                parents = package[: len(package) - node.level + 1]
                base = ".".join([*parents, *filter(None, [base])])
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            parts = name.split(".")
            yield from (".".join(parts[:n]) for n in range(1, len(parts) + 1))


def has_main_guard(path: Path) -> bool:
    """Whether a script keeps its work below `if __name__ == "__main__":`."""
    return any(
        isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'"
        for node in _parsed(str(path)).body
    )


def _parsed(file: str | None) -> ast.Module:
    try:
        return ast.parse(Path(file).read_bytes()) if file else ast.Module([], [])
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])
