"""The import statements of a Python file, read from its text."""

import ast
from collections.abc import Iterator
from pathlib import Path


def imported_names(tree: ast.Module, package: str) -> Iterator[str]:
    """Yield every module's name that an import statement may stand for, its packages too.

    Args:
        tree: the file.
        package: that it belongs to, from which relative names start.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                base = ".".join([*parts[: len(parts) - node.level + 1], *filter(None, [base])])
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            parts = name.split(".")
            yield from (".".join(parts[:n]) for n in range(1, len(parts) + 1))


def parsed(file: str | Path | None) -> ast.Module:
    """The statements of a file; none where it is no Python text."""
    try:
        return ast.parse(Path(file).read_bytes()) if file else ast.Module([], [])
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])
