"""Which code the members of a sweep are trained with, and which of its runs are of that code."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pinnsig.core import trust as trusted
from pinnsig.core.errors import PinnsigError, ProblemError, RunError
from pinnsig.core.trust import Trust
from pinnsig.problem import (
    Problem,
    name_of,
    problem_class,
    problem_entries,
    problem_file,
    source_of,
)
from pinnsig.problem.source import CLASS, FILE, Source, file_digest
from pinnsig.run.directory import RunDirectory
from pinnsig.run.environment import version_notices
from pinnsig.run.source import OLD, read_source
from pinnsig.sweeps.grid import Grid, Member

ITSELF = ""  # the name of a class's digest, in the place of a file's


@dataclass(frozen=True)
class Identity:
    """The code of a sweep's problems, as they are now.

    Attributes:
        sources: by problem, of those that this call names.
        classes: the same problems' classes, of those that were given as one.
    """

    sources: Mapping[str, Source] = field(default_factory=dict)
    classes: Mapping[str, type[Problem]] = field(default_factory=dict)

    @staticmethod
    def of(problems: Iterable[str], problem_type: type[Problem] | None) -> "Identity":
        """The code of problems by name, or of a class; files are imported.

        Raises:
            ProblemError: one cannot be found or imported.
        """
        if problem_type is None:
            return Identity({name: source_of(problem_class(name)) for name in problems})
        name = name_of(problem_type)
        source = source_of(problem_type)
        return Identity({name: source}, {} if source.origin == FILE else {name: problem_type})

    def renewed(self, grid: Grid) -> Grid:
        """A grid whose problems have the code that they have now."""
        names = [name for name in grid.values["problem"] if name in self.sources]
        return replace(grid, code={**grid.code, **{n: _code(self.sources[n]) for n in names}})

    def changed(self, grids: Iterable[Grid]) -> set[str]:
        """The problems whose code was another one when the grids were written down."""
        known = [(name, code) for grid in grids for name, code in grid.code.items()]
        return {n for n, code in known if n in self.sources and code != _code(self.sources[n])}

    def is_stale(self, run: Path, member: Member) -> bool:
        """Whether a member's run was trained with other code, or read other files, than now."""
        now = self.sources.get(member["problem"])
        if now is None or not (run / "config.json").is_file():
            return False
        try:
            before = read_source(RunDirectory.open(run))
        except RunError:
            return False  # a damaged run is no matter of code
        if before is not None:
            return bool(before.changes(now))
        old = file_digest(run / OLD)
        return old is not None and now.code.get(now.file) != old

    def code_of(self, grids: Iterable[Grid], problem: str) -> dict[str, str] | None:
        """The digests that a problem's files must have; None for a registered one or a class."""
        if problem_file(problem) is None:
            return None
        if problem in self.sources:
            return dict(self.sources[problem].code)
        return next((g.code[problem] for g in grids if problem in g.code), {})

    def is_at_hand(self, grids: Iterable[Grid], problem: str) -> bool:
        """Whether a member can be run: its problem is named now, registered, or trusted."""
        if problem in self.sources:
            return True
        if problem_file(problem) is None:
            is_class = any(ITSELF in grid.code.get(problem, {}) for grid in grids)
            return not is_class and problem in problem_entries()
        code = self.code_of(grids, problem)
        return bool(code) and trusted.is_trusted(trusted.source_digest(code or {}))

    def remember(self) -> None:
        """Trust the files that this call names, which lets a later one finish their members."""
        for name, source in self.sources.items():
            if source.origin == FILE:
                trusted.add(trusted.source_digest(source.code), Path(name))


def trust_code(grids: Iterable[Grid], problem: str, trust: Trust) -> None:
    """Have a problem file run that only the sweep's directory names, if the user says so.

    Raises:
        TrustError: not so.
    """
    file = problem_file(problem)
    code = next((g.code[problem] for g in grids if problem in g.code), None)
    if file is None or not code:
        raise ProblemError(f"name {problem} to have its members run")
    trusted.require(code, file.path.parent, file.path.name, trust)


def version_notice(runs: Iterable[Path]) -> tuple[str, ...]:
    """A line where runs were made with another version of this package."""
    for run in runs:
        try:
            found = version_notices(RunDirectory(run))
        except PinnsigError:
            continue
        if found:
            return found
    return ()


def checked_code(code: Any) -> dict[str, dict[str, str]]:
    """The code of a grid from sweep.json, which anyone may have written.

    Raises:
        TypeError: it is none.
    """
    for digests in dict(code).values():
        if not all(isinstance(text, str) for pair in dict(digests).items() for text in pair):
            raise TypeError
    return {name: dict(digests) for name, digests in dict(code).items()}


def _code(source: Source) -> dict[str, str]:
    return {ITSELF: source.fingerprint} if source.origin == CLASS else dict(source.code)
