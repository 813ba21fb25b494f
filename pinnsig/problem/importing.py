"""Importing a user's file with the modules beside it, apart from those of every other folder.

Two copies of one neighbour, in two run directories, are two modules: `import neighbour` within a
file means the one beside that file, now and at any later call of its functions. What is run is what
was read and digested, never a compiled leftover.
"""

import builtins
import hashlib
import importlib
import sys
from collections.abc import Mapping
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from pinnsig.core.errors import ChangedCodeError, ProblemError
from pinnsig.problem.statements import imported_names, parsed

PREFIX = "pinnsig_user_"
OWN = "pinnsig"  # never a neighbour: a second copy of it would know no problem of the first


def digest_of(data: bytes) -> str:
    """The digest by which a file's contents are known."""
    return hashlib.sha256(data).hexdigest()


class Namespace:
    """The modules of one folder.

    Attributes:
        root: the folder.
        code: digests of the files that were imported, by their path below the folder.

    Args:
        root: the folder.
        key: what tells it from others in the names of its modules.
        allowed: the digests that its files must have, by path; None lets all be imported.
    """

    def __init__(self, root: Path, key: str, allowed: Mapping[str, str] | None = None) -> None:
        self.root = root
        self.name = PREFIX + key
        self.allowed = allowed
        self.code: dict[str, str] = {}
        self._modules: dict[str, ModuleType] = {}
        self._builtins = {**vars(builtins), "__import__": self._import}
        for name in [n for n in sys.modules if n.partition(".")[0] == self.name]:
            del sys.modules[name]  # of an earlier import; its own functions still know them
        package = ModuleType(self.name)
        package.__path__ = [str(root)]
        sys.modules[self.name] = package  # so that classes can be found again by name

    def load_file(self, path: Path) -> ModuleType:
        """Import a file that lies in the folder."""
        dotted = path.stem.replace(".", "_")
        spec = spec_from_file_location(f"{self.name}.{dotted}", path)
        if spec is None or spec.loader is None:
            raise ProblemError(f"{path} is no Python file")
        return self._modules.get(dotted) or self._run(dotted, spec)

    def load(self, dotted: str) -> ModuleType:
        """Import a module by its name below the folder, its packages first.

        Raises:
            ModuleNotFoundError: there is none.
        """
        if dotted in self._modules:
            return self._modules[dotted]
        parent = dotted.rpartition(".")[0]
        spec = self._find(dotted, self.load(parent) if parent else None)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {dotted!r}", name=dotted)
        return self._run(dotted, spec)

    def reachable(self) -> dict[str, str]:
        """Digests of what was imported and of what its functions may import yet, by path."""
        found = dict(self.code)
        left = [name for name in found if name.endswith(".py")]
        while left:
            name = left.pop()
            package = ".".join([self.name, *Path(name).parts[:-1]])
            for dotted in imported_names(parsed(self.root / name), package):
                path = self._file_of(dotted.removeprefix(f"{self.name}."))
                other = path and path.relative_to(self.root).as_posix()
                if path and other and other not in found:
                    found[other] = digest_of(path.read_bytes())
                    left.append(other)
        return found

    def _file_of(self, dotted: str) -> Path | None:
        """The text of a module by its name below the folder; None where it has none there."""
        base = self.root.joinpath(*dotted.split("."))
        for path in (base / "__init__.py", base.with_name(f"{base.name}.py")):
            if path.is_file() and self._resolved(dotted, {}, 0) is not None:
                return path
        return None

    def _find(self, dotted: str, package: ModuleType | None) -> ModuleSpec | None:
        if package is not None and not hasattr(package, "__path__"):
            return None
        importlib.invalidate_caches()
        places = [str(self.root)] if package is None else list(package.__path__)
        return PathFinder.find_spec(f"{self.name}.{dotted}", places)

    def _run(self, dotted: str, spec: ModuleSpec) -> ModuleType:
        assert spec.name is not None
        module = module_from_spec(spec)
        self._modules[dotted] = sys.modules[spec.name] = module
        try:
            if spec.origin and spec.has_location:
                self._run_file(module, spec, Path(spec.origin))
        except BaseException:
            del self._modules[dotted]
            sys.modules.pop(spec.name, None)
            raise
        parent, _, leaf = dotted.rpartition(".")
        if parent:
            setattr(self._modules[parent], leaf, module)
        return module

    def _run_file(self, module: ModuleType, spec: ModuleSpec, path: Path) -> None:
        data = path.read_bytes()
        name = path.relative_to(self.root).as_posix()
        if self.allowed is not None and self.allowed.get(name) != digest_of(data):
            raise ChangedCodeError(
                f"{path} is not what it was when this run was planned or trusted: its code is "
                "not run"
            )
        self.code[name] = digest_of(data)
        if not isinstance(spec.loader, SourceFileLoader):
            assert spec.loader is not None
            spec.loader.exec_module(module)
            return
        vars(module)["__builtins__"] = self._builtins
        exec(compile(data, str(path), "exec", dont_inherit=True), vars(module))

    # --- the import statement -------------------------------------------------------------------

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: tuple[str, ...] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """What the import statement calls within the folder's files."""
        dotted = self._resolved(name, globals or {}, level)
        if dotted is None:
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        module = self.load(dotted) if dotted else sys.modules[self.name]
        if not fromlist:
            return self._modules[dotted.partition(".")[0]]
        if hasattr(module, "__path__"):
            wanted = getattr(module, "__all__", ()) if "*" in fromlist else fromlist
            for part in wanted:
                below = f"{dotted}.{part}" if dotted else part
                if not hasattr(module, part) and self._find(below, module) is not None:
                    found = self.load(below)
                    setattr(module, part, found)
        return module

    def _resolved(self, name: str, globals: Mapping[str, Any], level: int) -> str | None:
        """The module's name below the folder; None where it lies elsewhere."""
        if level:
            package = str(globals.get("__package__") or "").split(".")
            base = package[: len(package) - level + 1]
            if base[:1] != [self.name]:
                return None
            return ".".join([*base[1:], *filter(None, [name])])
        top = name.partition(".")[0]
        if top in self._modules:
            return name
        if top == OWN or top in sys.builtin_module_names:
            return None
        spec = self._find(top, None)
        if spec is None:
            return None
        if spec.loader is None or spec.origin is None:  # a folder without __init__.py comes last
            usual = PathFinder.find_spec(top)
            return name if usual is None or usual.origin is None else None
        return name
