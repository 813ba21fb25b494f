"""Where a problem's code comes from, what it read, and the copy that a run keeps of both."""

import contextlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any

from pinnsig.core.errors import ChangedCodeError, RunError
from pinnsig.core.trust import source_digest
from pinnsig.problem.base import Problem
from pinnsig.problem.fingerprint import fingerprint, is_own
from pinnsig.problem.importing import OWN, digest_of
from pinnsig.problem.modules import has_main_guard, imported_modules
from pinnsig.problem.opened import OpenedFiles, is_installed

FILE, REGISTERED, CLASS = "file", "registered", "class"
FOLDER = "source"
LARGEST = 50 * 2**20  # bytes that a run copies; beyond, data are linked to
DIGESTS = ("code", "data", "elsewhere")


@dataclass(frozen=True)
class Source:
    """The code that a problem's class is made of, and the files that it read.

    Attributes:
        origin: a user's file, a registered problem, or a class from Python.
        kind: the class's name within its module.
        module: the module's name.
        distribution: the package that registered it, with its version.
        fingerprint: digest of the class as it is in memory.
        file: the file that it is in, below the folder of the code; "" where the run cannot keep it.
        code: digests of the files of code: by path below that folder, or by module if registered.
        data: digests of files that the code read, by path below that folder.
        elsewhere: digests of files that it read, by absolute path.
        root: the folder of the code, where that is at hand.
    """

    origin: str
    kind: str
    module: str = ""
    distribution: str = ""
    fingerprint: str = ""
    file: str = ""
    code: dict[str, str] = field(default_factory=dict)
    data: dict[str, str] = field(default_factory=dict)
    elsewhere: dict[str, str] = field(default_factory=dict)
    root: Path | None = None

    @cached_property
    def digest(self) -> str:
        """The digest of the code: of its files, or of the class where it is from Python."""
        return self.fingerprint if self.origin == CLASS else source_digest(self.code)

    def having_read(self, *opened: OpenedFiles) -> "Source":
        """The same source with the files that were opened since."""
        data, elsewhere = dict(self.data), dict(self.elsewhere)
        for path in (path for seen in opened for path in seen.paths):
            name = _below(path, self.root)
            if name in self.code:
                continue
            digest = file_digest(path)
            if digest is not None and name is not None:
                data[name] = digest
            elif digest is not None:
                elsewhere[str(path)] = digest
        return replace(self, data=data, elsewhere=elsewhere)

    def as_dict(self) -> dict[str, Any]:
        """Return what config.json holds of it."""
        known = {name: getattr(self, name) for name in self.__match_args__ if name != "root"}
        return {**known, "digest": self.digest}

    @staticmethod
    def read(given: Any, where: Path) -> "Source":
        """Return a source from config.json, which anyone may have written.

        Raises:
            RunError: it is none.
        """
        known = {name: value for name, value in dict(given).items() if name in _FIELDS}
        texts = all(isinstance(known.get(n, ""), str) for n in _FIELDS if n not in DIGESTS)
        tables = all(_is_digests(known.get(name, {})) for name in DIGESTS)
        if not (texts and tables and {"origin", "kind"} <= set(known)):
            raise RunError(f"{where} is damaged: its source says nothing of a problem's code")
        source = Source(**known)
        names = [n for n in (source.file, *source.data) if n]
        names += source.code if source.origin != REGISTERED else ()
        if any(not is_below(name) for name in names):
            raise RunError(f"{where} is damaged: its source leads out of the run directory")
        return source

    def changes(self, now: "Source") -> list[str]:
        """Names of what is different now, of the code and of the files that it read."""
        if CLASS in (self.origin, now.origin):
            changed = [] if self.fingerprint == now.fingerprint else [f"class {now.kind}"]
        else:
            names = [n for n in {**self.code, **now.code} if self.code.get(n) != now.code.get(n)]
            changed = names if self.origin == now.origin else [now.kind]
        read = {now.root / n: d for n, d in self.data.items()} if now.root else {}
        read |= {Path(name): digest for name, digest in self.elsewhere.items()}
        return changed + [path.name for path, digest in read.items() if file_digest(path) != digest]

    def copy(self, target: Path, links: bool = True) -> None:
        """Keep the files of code, and the data beside them, in a new folder.

        Data beyond 50 MB in all are linked to where they are, if links may be made.

        Raises:
            OSError: they cannot be written.
            ChangedCodeError: a file is no longer what was imported or read.
        """
        if not self.file or self.root is None:
            return
        total = 0
        for name, digest in {**self.code, **self.data}.items():
            origin, copy = self.root / name, target / name
            if file_digest(origin) != digest:
                raise ChangedCodeError(f"{origin} changed while it was read: start the run again")
            copy.parent.mkdir(parents=True, exist_ok=True)
            total += origin.stat().st_size
            if links and name in self.data and total > LARGEST:
                copy.symlink_to(origin.absolute())
            else:
                copy.write_bytes(origin.read_bytes())


_FIELDS = tuple(name for name in Source.__match_args__ if name != "root")


def is_below(name: str) -> bool:
    """Whether a name stays within the folder that it is taken in."""
    path = PurePosixPath(name)
    outside = path.is_absolute() or ".." in path.parts or "\\" in name or ":" in path.parts[0]
    return not outside and "\0" not in name


def file_digest(path: Path) -> str | None:
    """The digest of a file's contents; None where there is no file that can be read."""
    with contextlib.suppress(OSError, ValueError):
        if path.is_file():
            with path.open("rb") as stream:
                digest = sha256()
                while block := stream.read(2**20):
                    digest.update(block)
                return digest.hexdigest()
    return None


def class_source(cls: type[Problem]) -> Source:
    """The source of a class from Python.

    A run can keep its module where that can be imported again without doing more than defining: a
    module that is not installed, or a script whose work is below `if __name__ == "__main__":`.
    """
    module = sys.modules.get(cls.__module__)
    plain = Source(
        CLASS,
        cls.__qualname__,
        cls.__module__,
        fingerprint=fingerprint(cls),
    )
    file = getattr(module, "__file__", None)
    if module is None or file is None or not Path(file).is_file() or is_installed(file):
        return plain
    path, dotted = Path(file).absolute(), module.__name__
    if dotted == "__main__" or path.stem != dotted.rpartition(".")[2]:
        dotted = path.stem
    root = path.parents[dotted.count(".")]
    plain = replace(plain, root=root)
    lost = "." in cls.__qualname__ or dotted.partition(".")[0] == OWN
    if lost or (module.__name__ == "__main__" and not has_main_guard(path)):
        return plain
    packages = [".".join(dotted.split(".")[:n]) for n in range(1, dotted.count(".") + 1)]
    modules = [module, *(sys.modules[name] for name in packages if name in sys.modules)]
    files = [path, *filter(None, (_module_file(m, root) for m in imported_modules(modules)))]
    code = {p.relative_to(root).as_posix(): digest_of(p.read_bytes()) for p in dict.fromkeys(files)}
    return replace(plain, file=path.relative_to(root).as_posix(), code=code)


def registered_source(cls: type[Problem], distribution: str) -> Source:
    """The source of a registered problem: its module, and what that imports of its own package."""
    module = sys.modules[cls.__module__]
    package = cls.__module__.partition(".")[0]
    parts = [m for m in imported_modules([module]) if m.__name__.partition(".")[0] == package]
    own = [m for m in dict.fromkeys([module, *parts]) if package != OWN or is_own(m.__name__)]
    files = {m.__name__: getattr(m, "__file__", None) for m in own}
    digests = {name: file_digest(Path(file)) for name, file in files.items() if file}
    return Source(
        REGISTERED, cls.__qualname__, cls.__module__, distribution, fingerprint(cls),
        code={name: digest for name, digest in digests.items() if digest},
    )  # fmt: skip


def _module_file(module: ModuleType, root: Path) -> Path | None:
    """The file of a module that lies below a folder under its own name."""
    if module.__name__.partition(".")[0] == OWN:
        return None
    base = root.joinpath(*module.__name__.split("."))
    file = getattr(module, "__file__", None)
    fits = file is not None and Path(file) in (base.with_suffix(".py"), base / "__init__.py")
    return Path(file) if fits and file and not is_installed(file) else None


def _below(path: Path, root: Path | None) -> str | None:
    if root is None or not path.is_relative_to(root):
        return None
    name = path.relative_to(root).as_posix()
    return name if is_below(name) and os.sep not in name.replace("/", os.sep)[:1] else None


def _is_digests(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(name, str) and name and isinstance(digest, str) for name, digest in value.items()
    )
