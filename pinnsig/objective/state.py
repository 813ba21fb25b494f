"""What a problem's code remembers from one evaluation to the next: nothing, or it is refused."""

import types
import zlib
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from pinnsig.problem import Condition, Problem

DEPTH = 6
ITEMS = 20_000
"""Looked at, at most."""
BYTES = 10**7
"""Of an array, up to which its numbers are looked at."""


class State:
    """All that code can reach and change, as it stands.

    What the problem's own attributes hold counts, not that they are set to something else: each
    thread evaluates a copy of the problem (`Problem.bound`), whose attributes are its own.
    Conditions are shared, and so is the problem that their functions belong to.

    Args:
        problem: whose code is evaluated.
        condition: the one that is evaluated; None for the residual.
    """

    def __init__(self, problem: Problem, condition: Condition | None = None) -> None:
        self.problem, self.condition = problem, condition
        self.own = dict(vars(problem))
        self.walk = self._look()

    def changed(self) -> str | None:
        """The name of something that has changed since; None if nothing has."""
        before, after = self.walk.found, self._look().found
        for path in [*before, *(path for path in after if path not in before)]:
            if before.get(path) != after.get(path):
                return path.split(" ")[0]
        return None

    def _look(self) -> "_Walk":
        walk = _Walk(self.problem)
        own = self.own if self.condition is None else vars(self.problem)
        for name, value in own.items():
            walk.visit(f"self.{name}", value, 0)
        for kind in type(self.problem).__mro__:
            if kind is Problem:
                break
            for name, value in vars(kind).items():
                if not name.startswith("__"):
                    walk.visit(f"{kind.__name__}.{name}", value, 0)
        if self.condition is not None:
            for name, value in vars(self.condition).items():
                walk.visit(f"{type(self.condition).__name__}.{name}", value, 0)
        return walk


class _Walk:
    """Marks of everything that can be reached from some roots, by path."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.found: dict[str, Any] = {}
        self.seen: set[int] = set()
        self.kept: list[Any] = []  # so that no other gets the id of one that is gone

    def visit(self, path: str, value: Any, depth: int) -> None:
        """Note a value and what is in it.

        Args:
            path: what it is called; a space ends the name that people see.
            value: itself.
            depth: how far from a root.
        """
        if len(self.found) > ITEMS or depth > DEPTH or value is self.problem:
            return
        self.found[path] = _mark(value)
        self.kept.append(value)
        if id(value) in self.seen:
            return
        self.seen.add(id(value))
        code = isinstance(value, types.FunctionType)  # whose variables have names of their own
        for name, item in self._within(value):
            self.visit(f"{name} in {path}" if code else f"{path} {name}", item, depth + 1)
        for name, item in _globals(value):
            self.visit(f"{name}", item, depth + 1)

    @staticmethod
    def _within(value: Any) -> Iterator[tuple[str, Any]]:
        if isinstance(value, Mapping):
            for i, (key, item) in enumerate(value.items()):
                yield f"{i}{key if isinstance(key, str | int) else ''}", item
        elif isinstance(value, list | tuple | set | frozenset | deque):
            for i, item in enumerate(value):
                yield str(i), item
        elif isinstance(value, types.FunctionType):
            for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
                try:
                    yield name, cell.cell_contents
                except ValueError:  # not set yet
                    continue
            for i, item in enumerate(value.__defaults__ or ()):
                yield f"default{i}", item
        elif isinstance(value, types.MethodType):
            yield "function", value.__func__
            yield "self", value.__self__
        elif not isinstance(value, type | types.ModuleType | torch.Tensor | np.ndarray | Problem):
            for name, item in (getattr(value, "__dict__", None) or {}).items():
                yield name, item
        elif isinstance(value, Problem):
            for name, item in vars(value).items():
                yield name, item


def _globals(value: Any) -> Iterator[tuple[str, Any]]:
    """What a function's code names in its module, where that can change."""
    if not isinstance(value, types.FunctionType):
        return
    for name in _names(value.__code__):
        if name not in value.__globals__:
            continue
        item = value.__globals__[name]
        own = getattr(item, "__module__", None) == value.__module__
        if isinstance(item, type) and own:
            for key, held in vars(item).items():
                if not key.startswith("__"):
                    yield f"{name}.{key}", held
        elif own or not isinstance(item, type | types.ModuleType | types.FunctionType):
            yield name, item


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _mark(value: Any) -> Any:
    """Something that differs once a value is another one, or has been written into."""
    if isinstance(value, bool | int | float | complex | str | bytes | None):
        return repr(value)
    if isinstance(value, torch.Tensor):
        return id(value), None if value.is_inference() else value._version
    if isinstance(value, np.ndarray) and value.nbytes <= BYTES and value.dtype != object:
        return id(value), zlib.crc32(np.ascontiguousarray(value).view(np.uint8).data)
    return id(value), len(value) if isinstance(value, Mapping | list | set | deque) else 0
