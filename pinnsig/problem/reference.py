"""Where another process finds a problem's class."""

import importlib
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from pinnsig.core.errors import ProblemError
from pinnsig.problem.base import Problem
from pinnsig.problem.registry import class_in_file, source_of


@dataclass(frozen=True)
class Reference:
    """A class by its file, or by its module.

    Attributes:
        name: the class's qualified name.
        module: that it is in, where it was not read from a file.
        path, root: of the file, and the folder that its imports start from.
    """

    name: str
    module: str = ""
    path: Path | None = None
    root: Path | None = None

    @classmethod
    def of(cls, problem: type[Problem]) -> "Reference":
        """Return where a class is found.

        Raises:
            ProblemError: by no other process: it is a script's own, or a function's.
        """
        source = source_of(problem)
        if source.file:
            assert source.root is not None
            return cls(problem.__qualname__, path=source.root / source.file, root=source.root)
        if problem.__module__ == "__main__" or "<locals>" in problem.__qualname__:
            raise ProblemError(
                f"{problem.__qualname__} is a class of this script, which other processes cannot "
                "import: put it into a file and name that, as in solve('my_pde.py'), or start the "
                "script with torchrun"
            )
        return cls(problem.__qualname__, problem.__module__)

    def find(self) -> type[Problem]:
        """Return the class.

        Raises:
            ProblemError: it cannot be imported.
        """
        if self.path is not None:
            return class_in_file(self.path, self.name, root=self.root)
        try:
            module = importlib.import_module(self.module)
            return reduce(getattr, self.name.split("."), module)  # type: ignore[arg-type]
        except (ImportError, AttributeError) as error:
            raise ProblemError(f"{self.module}.{self.name} cannot be imported: {error}") from error
