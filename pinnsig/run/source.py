"""What a run keeps of its problem: written with the run, read back, and run only if trusted.

`config.json` says where the problem came from; `source/` holds the user's own file, the modules
beside it that it imports, and the files beside it that it reads.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinnsig.core import trust as trusted
from pinnsig.core.errors import ProblemError, RunError
from pinnsig.core.paths import user_path
from pinnsig.core.trust import Trust
from pinnsig.problem import Problem, problem_class, problem_entries, problem_file, source_of
from pinnsig.problem.opened import OpenedFiles
from pinnsig.problem.registry import class_in_file
from pinnsig.problem.source import FILE, FOLDER, REGISTERED, Source, file_digest
from pinnsig.run.directory import RunDirectory

OLD = "problem.py"  # what runs kept before there was `source/`


@dataclass(frozen=True)
class OwnProblem:
    """The problem of a run that was read back, with what a user should know of it."""

    problem_type: type[Problem]
    notices: tuple[str, ...] = ()


def keep_source(directory: RunDirectory, source: Source) -> tuple[str, ...]:
    """Copy a problem's source into its run, and trust the copy; returns notices.

    Raises:
        RunError: it cannot be written.
    """
    folder = directory.path / FOLDER
    try:
        source.copy(folder)
    except OSError as error:
        raise RunError(f"cannot write {folder}: {error.strerror}") from None
    if not folder.is_dir():
        return ()
    digest = trusted.source_digest(_digests(folder, source))
    notice = trusted.add(digest, directory.path.absolute())
    return (notice,) if notice else ()


def relative_notices(opened: OpenedFiles) -> tuple[str, ...]:
    """A line for each file that was found by way of the working directory."""
    return tuple(
        f"{name} is read from the working directory: this run can be loaded from there only; "
        f"write Path(__file__).parent / {Path(name).name!r} for a file beside the problem"
        for name in opened.relative.values()
    )


def read_source(directory: RunDirectory) -> Source | None:
    """The source that a run says it has; None for one that was made before there were any.

    Raises:
        RunError: config.json is damaged.
    """
    record: Any = directory.read_json("config.json").get("source")
    if record is None:
        return None
    where = directory.path / "config.json"
    if not isinstance(record, dict):
        raise RunError(f"{where} is damaged: its source is no record of a problem's code")
    return Source.read(record, where)


def problem_of(
    directory: RunDirectory, name: str, trust: Trust, given: type[Problem] | None = None
) -> OwnProblem:
    """The problem that a run was solved with: a registered one, or the run's own copy.

    Args:
        directory: the run.
        name: the problem's, in the run's settings.
        trust: what the user said of code in the run's directory.
        given: the class, where the user gives it.

    Raises:
        TrustError: the run's copy is not trusted.
        ProblemError: it is a class that the run could not keep, or its code fails.
    """
    source = read_source(directory)
    if given is not None:
        return OwnProblem(given, _other_class(source, given))
    if source is None:
        return _old_problem(directory, name, trust)
    if source.origin == REGISTERED:
        if problem_file(name) is not None:
            raise RunError(f"{directory.path} is damaged: {name!r} is no registered problem")
        problem_type = problem_class(name)
        changed = source.changes(source_of(problem_type))
        if changed:
            notice = f"the problem {name} has changed since this run: {', '.join(changed)}"
            return OwnProblem(problem_type, (notice,))
        return OwnProblem(problem_type)
    if not source.file:
        raise _not_kept(directory, name)
    digests = _trusted(directory, source, trust)
    notices = _elsewhere(directory, source)
    own = (directory.path / FOLDER).absolute()
    return OwnProblem(class_in_file(own / source.file, source.kind, digests, own), notices)


def problem_of_config(config: str | Path, name: str, trust: Trust) -> OwnProblem | None:
    """The problem that a `config.json` names, if that lies in a run and the run kept its problem.

    Raises:
        PinnsigError: see `problem_of`.
    """
    path = user_path(config, RunError)
    if path.name != "config.json" or problem_file(name) is None:
        return None
    kept = (path.parent / FOLDER).is_dir() or (path.parent / OLD).is_file()
    return problem_of(RunDirectory.open(path.parent), name, trust) if kept else None


def original_notices(source: Source | None, name: str) -> tuple[str, ...]:
    """A line where the file that a run was made from is another one now."""
    file = problem_file(name)
    if source is None or source.origin != FILE or file is None:
        return ()
    kept = {**source.code, **source.data}.items()
    now = {part: file_digest(file.path.parent / part) for part, _ in kept}
    changed = [part for part, digest in kept if now[part] not in (None, digest)]
    if not changed:
        return ()
    names = ", ".join(changed)
    return (f"{names} changed since this run was made: it goes on with its own copy of the code",)


def require_trust(run: str | Path, trust: Trust) -> None:
    """Refuse a run whose own copy of its problem is not trusted.

    Raises:
        TrustError: it is not, and the user did not say that it is.
    """
    directory = RunDirectory.open(run)
    source = read_source(directory)
    if source is not None and source.origin != REGISTERED and source.file:
        _trusted(directory, source, trust)
    elif source is None and (directory.path / OLD).is_file():
        trusted.require(_old_digest(directory), directory.path, OLD, trust)


def _trusted(directory: RunDirectory, source: Source, trust: Trust) -> dict[str, str]:
    """The digests of a run's own copy, which is trusted."""
    folder = directory.path / FOLDER
    digests = _digests(folder, source)
    if source.file not in digests:
        raise RunError(f"{folder} is damaged: it has no {source.file}")
    trusted.require(digests, folder, source.file, trust)
    return digests


def _old_digest(directory: RunDirectory) -> dict[str, str]:
    path = directory.path / OLD
    digest = None if path.is_symlink() else file_digest(path)
    if digest is None:
        raise RunError(f"{directory.path} has no {OLD}: its problem cannot be read back")
    return {OLD: digest}


def _old_problem(directory: RunDirectory, name: str, trust: Trust) -> OwnProblem:
    file = problem_file(name)
    if file is None:
        if name not in problem_entries():
            raise _not_kept(directory, name)
        return OwnProblem(problem_class(name))
    digest = _old_digest(directory)
    trusted.require(digest, directory.path, OLD, trust)
    path = directory.path.absolute() / OLD
    return OwnProblem(class_in_file(path, file.chosen, digest))


def _not_kept(directory: RunDirectory, name: str) -> ProblemError:
    return ProblemError(
        f"{directory.path} solved a class {name!r} that is not registered, and could not keep its "
        f"code: give it to load(run, problem={name})"
    )


def _other_class(source: Source | None, given: type[Problem]) -> tuple[str, ...]:
    if source is None or source_of(given).fingerprint == source.fingerprint:
        return ()
    return (
        f"the class {given.__name__} that is given is not the one that the run was trained with: "
        "its code differs",
    )


def _digests(folder: Path, source: Source) -> dict[str, str]:
    """Digests of all files in a run's copy, by path; links are followed where the run made them.

    Raises:
        RunError: something leads out of it, or what a link stood for is gone or changed.
    """
    if folder.is_symlink() or not folder.is_dir():
        raise RunError(f"{folder} is missing: the problem of this run cannot be read back")
    found: dict[str, str] = {}
    for at, folders, files in os.walk(folder):
        for entry in [*folders, *files]:
            path = Path(at, entry)
            name = path.relative_to(folder).as_posix()
            digest = file_digest(path)
            if path.is_symlink():
                if name not in source.data:
                    raise RunError(f"{path} leads out of the run directory: it is not followed")
                if digest != source.data[name]:
                    how = "gone" if digest is None else "changed"
                    raise RunError(f"{path.readlink()}, which this run reads, is {how}")
            if digest is not None:
                found[name] = digest
    return found


def _elsewhere(directory: RunDirectory, source: Source) -> tuple[str, ...]:
    """Notices of files that the run read elsewhere and that have changed.

    Raises:
        RunError: one is gone.
    """
    now = {name: file_digest(Path(name)) for name in source.elsewhere}
    gone = [name for name, digest in now.items() if digest is None]
    if gone:
        raise RunError(f"{directory.path} needs the file {gone[0]}, which its problem read: gone")
    changed = [name for name, digest in now.items() if digest != source.elsewhere[name]]
    return tuple(f"{name} has changed since this run read it" for name in changed)
