"""Finding problems: by entry point, or in a user's own file."""

import hashlib
import inspect
from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import NamedTuple
from weakref import WeakKeyDictionary

from pinnsig.core.errors import ChangedCodeError, ProblemError, one_line
from pinnsig.core.paths import user_path
from pinnsig.core.registry import Registry, unknown
from pinnsig.problem.base import Problem
from pinnsig.problem.fingerprint import fingerprint
from pinnsig.problem.importing import Namespace
from pinnsig.problem.opened import OpenedFiles
from pinnsig.problem.source import FILE, Source, class_source, registered_source

GROUP = "pinnsig.problems"
_imported: "WeakKeyDictionary[type[Problem], _Imported]" = WeakKeyDictionary()


def problem_entries() -> Registry[EntryPoint]:
    """Return every registered problem by name, the built-in ones and those of other packages.

    Raises:
        ProblemError: two packages register different problems by one name.
    """
    found: Registry[EntryPoint] = Registry("problem", ProblemError)
    for entry in sorted(entry_points(group=GROUP), key=lambda e: e.name):
        found.register(entry.name, entry)
    return found


class ProblemFile(NamedTuple):
    """A problem in a user's file: where it is, and the class that was named, or ""."""

    path: Path
    chosen: str


def problem_file(name: str) -> ProblemFile | None:
    """The file that a name points to (`my.py`, `my.py:Heat`); None for a registered problem."""
    path, _, chosen = name.rpartition(":") if ".py:" in name else (name, "", "")
    if path.endswith(".py") or "/" in path or "\\" in path:
        return ProblemFile(user_path(path, ProblemError), chosen)
    return None


def absolute(name: str) -> str:
    """The same problem's name, usable from any working directory."""
    file = problem_file(name)
    if file is None:
        return name
    path = file.path.absolute()
    return f"{path}:{file.chosen}" if file.chosen else str(path)


def name_of(cls: type[Problem]) -> str:
    """The name of a class in a run's settings: that of its file, if it was read from one."""
    imported = _imported.get(cls)
    return cls.__name__ if imported is None else f"{imported.path}:{cls.__qualname__}"


def problem_class(name: str, allowed: Mapping[str, str] | None = None) -> type[Problem]:
    """The problem of that name, or in that file: `burgers`, `my.py`, `my.py:Heat`.

    A file is imported, so it runs, with the modules beside it that it imports.

    Args:
        name: of the problem.
        allowed: the digests that the file and its neighbours must have, by name; None lets them be
            what they are.

    Raises:
        ProblemError: unknown name, or a file that holds no problem or cannot be imported.
    """
    file = problem_file(name)
    if file is not None:
        return class_in_file(file.path, file.chosen, allowed)
    entries = problem_entries()
    if name not in entries:
        raise ProblemError(
            f"{unknown('problem', name, entries)} (or give a file such as my_pde.py)"
        )
    try:
        found = entries[name].load()
    except Exception as error:
        raise ProblemError(f"problem {name!r} cannot be loaded: {one_line(error)}") from error
    if not (inspect.isclass(found) and issubclass(found, Problem)):
        raise ProblemError(f"problem {name!r} is registered but is no Problem class")
    return found


def class_in_file(
    path: Path, chosen: str = "", allowed: Mapping[str, str] | None = None, root: Path | None = None
) -> type[Problem]:
    """The problem in a file; see `problem_class`.

    Args:
        path: the file.
        chosen: the class's name, where there are several.
        allowed: see `problem_class`.
        root: the folder that its imports start from, where that is not its own.
    """
    if not path.is_file():
        raise ProblemError(f"there is no file {str(path)!r}")
    path = path.absolute()
    key = hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:12]
    modules = Namespace(root or path.parent, key, allowed)
    opened = OpenedFiles(modules.root)
    try:
        with opened.watching():
            if path.parent == modules.root:
                module = modules.load_file(path)
            else:
                module = modules.load(
                    ".".join(path.relative_to(modules.root).with_suffix("").parts)
                )
    except ChangedCodeError:
        raise
    except SyntaxError as error:
        line = f", line {error.lineno}" if error.lineno else ""
        raise ProblemError(f"{path}{line}: syntax error, {error.msg}") from error
    except (Exception, SystemExit) as error:
        raise ProblemError(f"{path} cannot be imported: {one_line(error)}") from error
    own = {
        key: value
        for key, value in vars(module).items()
        if inspect.isclass(value)
        and issubclass(value, Problem)
        and value.__module__ == module.__name__
    }
    for cls in own.values():
        _imported[cls] = _Imported(path, modules, opened)
    return _choose(path, own, chosen)


class _Imported(NamedTuple):
    """Where a class was read from, and what was opened meanwhile."""

    path: Path
    modules: Namespace
    opened: OpenedFiles


def opened_by(cls: type[Problem]) -> OpenedFiles:
    """What sees the files that a class opens, with those that were opened as it was imported."""
    imported = _imported.get(cls)
    return OpenedFiles(source_of(cls).root, cls.__module__) if imported is None else imported[2]


def source_of(cls: type[Problem]) -> Source:
    """Where a problem's class comes from, with the code and the files that it has read so far."""
    imported = _imported.get(cls)
    if imported is not None:
        path, modules, opened = imported
        file = path.relative_to(modules.root).as_posix()
        name, code = cls.__qualname__, modules.reachable()
        return Source(
            FILE, name, path.stem, "", fingerprint(cls), file, code, root=modules.root
        ).having_read(opened)
    value = f"{cls.__module__}:{cls.__qualname__}"
    for entry in problem_entries().values():
        if entry.value == value:
            maker = entry.dist
            return registered_source(cls, f"{maker.name} {maker.version}" if maker else "")
    return class_source(cls)


def _choose(path: Path, own: dict[str, type[Problem]], chosen: str) -> type[Problem]:
    if chosen and chosen not in own:
        raise ProblemError(f"{path} has no problem {chosen!r}: it has {_names(own)}")
    if not chosen and len(own) != 1:
        which = f"choose one with {path}:NAME" if own else "write a class that extends Problem"
        raise ProblemError(f"{path} has {_names(own)}: {which}")
    return own[chosen] if chosen else next(iter(own.values()))


def _names(own: Iterable[str]) -> str:
    return ", ".join(own) or "no problem"
