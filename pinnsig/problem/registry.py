"""Finding problems: by entry point, or in a user's own file."""

import difflib
import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import NamedTuple

from pinnsig.errors import ProblemError
from pinnsig.problem.base import Problem

GROUP = "pinnsig.problems"


def problem_entries() -> dict[str, EntryPoint]:
    """Every registered problem by name, the built-in ones and those of other packages."""
    return {entry.name: entry for entry in sorted(entry_points(group=GROUP), key=lambda e: e.name)}


class ProblemFile(NamedTuple):
    """A problem in a user's file: where it is, and the class that was named, or ""."""

    path: Path
    chosen: str


def problem_file(name: str) -> ProblemFile | None:
    """The file that a name points to (`my.py`, `my.py:Heat`); None for a registered problem."""
    path, _, chosen = name.rpartition(":") if ".py:" in name else (name, "", "")
    if path.endswith(".py") or "/" in path or "\\" in path:
        return ProblemFile(Path(path).expanduser(), chosen)
    return None


def absolute(name: str) -> str:
    """The same problem's name, usable from any working directory."""
    file = problem_file(name)
    if file is None:
        return name
    path = file.path.absolute()
    return f"{path}:{file.chosen}" if file.chosen else str(path)


def problem_class(name: str) -> type[Problem]:
    """The problem of that name, or in that file: `burgers`, `my.py`, `my.py:Heat`.

    A file is imported, so it runs.

    Raises:
        ProblemError: unknown name, or a file that holds no problem or cannot be imported.
    """
    file = problem_file(name)
    if file is not None:
        return _class_in_file(*file)
    entries = problem_entries()
    if name not in entries:
        near = difflib.get_close_matches(name, entries, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise ProblemError(
            f"no problem is called {name!r}: {hint}known are {', '.join(entries)}, "
            "or give a file such as my_pde.py"
        )
    try:
        found = entries[name].load()
    except Exception as error:
        raise ProblemError(f"problem {name!r} cannot be loaded: {_first_line(error)}") from error
    if not (inspect.isclass(found) and issubclass(found, Problem)):
        raise ProblemError(f"problem {name!r} is registered but is no Problem class")
    return found


def _class_in_file(path: Path, chosen: str) -> type[Problem]:
    if not path.is_file():
        raise ProblemError(f"there is no file {str(path)!r}")
    digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]
    module_name = f"pinnsig_user_{digest}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise ProblemError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # so that classes in it can be found again by name
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        line = f", line {error.lineno}" if error.lineno else ""
        raise ProblemError(f"{path}{line}: syntax error, {error.msg}") from error
    except (Exception, SystemExit) as error:
        raise ProblemError(f"{path} cannot be imported: {_first_line(error)}") from error
    own = {
        key: value
        for key, value in vars(module).items()
        if inspect.isclass(value) and issubclass(value, Problem) and value.__module__ == module_name
    }
    return _choose(path, own, chosen)


def _choose(path: Path, own: dict[str, type[Problem]], chosen: str) -> type[Problem]:
    if chosen and chosen not in own:
        raise ProblemError(f"{path} has no problem {chosen!r}: it has {_names(own)}")
    if not chosen and len(own) != 1:
        which = f"choose one with {path}:NAME" if own else "write a class that extends Problem"
        raise ProblemError(f"{path} has {_names(own)}: {which}")
    return own[chosen] if chosen else next(iter(own.values()))


def _names(own: Iterable[str]) -> str:
    return ", ".join(own) or "no problem"


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no message'}"
