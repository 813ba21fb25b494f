"""A digest of a class from Python: of the code that it runs, and of the values that code holds.

It is made of what is in memory, not of a file, which may have been edited since, or of which there
is none: a notebook. Comments, names of files and line numbers leave it as it is; two classes of one
name differ where their methods, their attributes, or what these refer to differ.
"""

import functools
import hashlib
import sys
from collections.abc import Iterable
from pathlib import PurePath
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np
import torch

from pinnsig.problem.opened import is_installed

PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...), range)
METHODS = (FunctionType, staticmethod, classmethod, property)
CONSTANT = (tuple, frozenset, CodeType)


def fingerprint(cls: type) -> str:
    """Return the digest of a class, 64 hexadecimal digits."""
    hashed = _Fingerprint()
    hashed.visit(cls)
    return hashed.digest.hexdigest()


def is_own(module: str) -> bool:
    """Whether a module is the user's own: neither Python's, nor installed, nor this package's."""
    if module.startswith("pinnsig.problems"):
        return True
    if module.partition(".")[0] in ("pinnsig", "builtins"):
        return False
    loaded = sys.modules.get(module)
    file = getattr(loaded, "__file__", None)
    frozen = loaded is not None and file is None and module != "__main__"
    return not frozen and not (file and is_installed(file))


class _Fingerprint:
    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.seen: dict[int, int] = {}
        self.kept: list[Any] = []  # so that no address is used twice

    def say(self, *texts: str) -> None:
        for text in texts:
            self.digest.update(text.encode("utf-8", "surrogatepass") + b"\0")

    def visit(self, value: Any) -> None:
        if isinstance(value, PLAIN):
            self.say(type(value).__name__, repr(value))
            return
        if not isinstance(value, CONSTANT):  # the interpreter may share those, or not
            if id(value) in self.seen:
                self.say("again", str(self.seen[id(value)]))
                return
            self.seen[id(value)] = len(self.seen)
            self.kept.append(value)
        self._compound(value)

    def _compound(self, value: Any) -> None:
        match value:
            case list() | tuple():
                self.say(type(value).__name__, str(len(value)))
                self._all(value)
            case dict():
                self.say("dict", str(len(value)))
                for key in sorted(value, key=repr):
                    self._all((key, value[key]))
            case set() | frozenset():
                self.say("set", *sorted(map(repr, value)))
            case CodeType():
                self._code(value)
            case FunctionType():
                self._function(value)
            case MethodType():
                self._all((value.__func__, value.__self__))
            case staticmethod() | classmethod():
                self.say(type(value).__name__)
                self.visit(value.__func__)
            case property():
                self._all((value.fget, value.fset))
            case functools.cached_property():
                self.visit(value.func)
            case functools.partial():
                self._all((value.func, value.args, value.keywords))
            case CellType():
                self._cell(value)
            case type():
                self._class(value)
            case ModuleType():
                self.say("module", _plain_name(value.__name__))
            case BuiltinFunctionType() | GetSetDescriptorType() | MemberDescriptorType():
                self.say(getattr(value, "__qualname__", value.__name__))
            case np.ndarray() if value.dtype != object:
                self.say("array", str(value.dtype), str(value.shape))
                self.digest.update(np.ascontiguousarray(value).tobytes())
            case torch.Tensor():
                self.visit(value.detach().cpu().numpy())
            case PurePath():  # whose attributes hold what it has worked out so far
                self.say("path", str(value))
            case _:
                self._object(value)

    def _all(self, values: Iterable[Any]) -> None:
        for value in values:
            self.visit(value)

    def _code(self, code: CodeType) -> None:
        self.say("code", code.co_name, *code.co_names, *code.co_varnames, *code.co_freevars)
        self.say(str((code.co_argcount, code.co_kwonlyargcount, code.co_flags)))
        self.digest.update(code.co_code)
        self._all(code.co_consts)

    def _function(self, function: FunctionType) -> None:
        if not is_own(function.__module__ or ""):
            self.say("function", str(function.__module__), function.__qualname__)
            return
        self._all((function.__code__, function.__defaults__, function.__kwdefaults__))
        self._all(function.__closure__ or ())
        names = sorted(_names(function.__code__))
        for name in names:
            if name not in function.__globals__:
                continue
            value = function.__globals__[name]
            self.say("global", name)
            self.visit(value)
            if isinstance(value, ModuleType) and is_own(value.__name__):  # what is taken from it
                self._all(vars(value)[other] for other in names if other in vars(value))

    def _cell(self, cell: CellType) -> None:
        try:
            self.visit(cell.cell_contents)
        except ValueError:
            self.say("empty cell")

    def _class(self, cls: type) -> None:
        self.say("class", cls.__qualname__)
        if not is_own(cls.__module__):
            self.say(cls.__module__)
            return
        self._all(cls.__bases__)
        for name, value in sorted(vars(cls).items()):
            special = name.startswith(("__", "_abc_"))  # what Python itself adds is no code
            if not special or isinstance(value, METHODS):
                self.say(name)
                self.visit(value)

    def _object(self, value: Any) -> None:
        self.visit(type(value))
        wrapped = getattr(value, "__wrapped__", None)
        if isinstance(wrapped, FunctionType):  # a cache, whose contents are no part of the code
            self.visit(wrapped)
            return
        state = getattr(value, "__dict__", None)
        slots = [s for t in type(value).__mro__ for s in _slots(t) if hasattr(value, s)]
        if state is None and not slots:
            text = repr(value)
            self.say("" if " at 0x" in text else text)
            return
        known = {k: v for k, v in (state or {}).items() if not _is_cached(value, k)}
        self.visit(known)
        self._all(getattr(value, slot) for slot in slots)


def _plain_name(module: str) -> str:
    """A module's name without the folder that it was imported from."""
    return module.partition(".")[2] if module.startswith("pinnsig_user_") else module


def _slots(cls: type) -> tuple[str, ...]:
    slots = vars(cls).get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    return tuple(name for name in names if not name.startswith("__"))


def _is_cached(value: Any, name: str) -> bool:
    """Whether an attribute is one that was worked out when it was first read."""
    return isinstance(getattr(type(value), name, None), functools.cached_property)


def _names(code: CodeType) -> set[str]:
    """Every name that a function and those within it may look up."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_names, inner))
