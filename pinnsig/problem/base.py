"""`Problem`: a PDE with its domain, conditions and coefficients."""

import copy
import inspect
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeVar

from torch import Tensor

from pinnsig.core.errors import ProblemError
from pinnsig.core.registry import suggestion
from pinnsig.geometry import Domain
from pinnsig.problem.binding import call_by_name, parameter_names
from pinnsig.problem.coefficients import Coefficient, Setting
from pinnsig.problem.condition import GROUPS, INTERIOR, Condition, Sites
from pinnsig.problem.definition import check_definition
from pinnsig.problem.functions import Function
from pinnsig.problem.given_points import GivenPoints
from pinnsig.problem.slab import Joint, Slab

Member = TypeVar("Member")


class Problem:
    """Base of all problems; a subclass states the mathematics and nothing else.

    A subclass sets `domain`, writes `residual`, and usually `conditions`; `solution`, `ansatz`
    and `features` are optional. The methods' parameters are found by their names: fields (u) and
    coordinates (x, t), in any order, those that are needed; unknown functions are among them as
    fields are. Every one of them behaves as a tensor of shape (N,); fields give partial derivatives
    as attributes (u.t, u.xx, u.xt).

    The methods compute a value at each point from that point alone, and remember nothing: points
    are dealt out to threads, in chunks. Each thread evaluates the residual, ansatz and features of
    a shallow copy of the problem, so that an attribute set there (`self.flux = u.x`) is the
    thread's own; what attributes hold (lists, dicts, arrays), conditions with their functions,
    classes and modules are shared. Code that changes any of these each time, or that depends on
    other points or on chance, is refused before training.

    Attributes:
        domain: the coordinates and their intervals.
        fields: names of the unknowns.
        hard: whether the fields are made by `hard_ansatz`, which meets all initial and boundary
            conditions.
        scaled_inputs: whether the network's inputs are the coordinates scaled to [-1, 1], where
            there are no features.
        collocation_points: where the residual is asked for, in the place of points that are drawn:
            an array of shape (N, dimensions), columns by name, a CSV or Parquet file, or a method
            that gives one of them; None to draw them.
        tries_hard: whether conditions with hard=True are terms none the less, to see that they
            are met.
        output_scales: by raw output, middle and size, where it is middle + size * the network's.
        time_slab: the part of its time that it is restricted to.

    Raises:
        ProblemError: a class that is not well formed, or a setting with an unusable value.
    """

    domain: ClassVar[Domain]
    fields: ClassVar[tuple[str, ...]] = ("u",)
    hard: bool = False
    scaled_inputs: bool = False
    collocation_points: Any = None
    tries_hard: bool = False
    output_scales: Mapping[str, tuple[float, float]] = MappingProxyType({})
    time_slab: Slab | None = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Refuse a class that is not well formed, whatever `__init__` it has."""
        del args, kwargs
        check_definition(cls, Problem)
        return super().__new__(cls)

    def __init__(self, **settings: Any) -> None:
        known = self.settings()
        for name, value in settings.items():
            if name not in known:
                raise ProblemError(
                    f"{type(self).__name__} has no coefficient {name!r}: {suggestion(name, known)}"
                )
            setattr(self, name, value)

    @classmethod
    def settings(cls) -> dict[str, Setting]:
        """Its coefficients and choices by name."""
        return _members(cls, Setting)

    @classmethod
    def learned(cls) -> dict[str, Coefficient]:
        """The coefficients that training has to find."""
        known = cls.settings().items()
        return {name: c for name, c in known if isinstance(c, Coefficient) and c.learn}

    @classmethod
    def functions(cls) -> dict[str, Function]:
        """The unknown functions that training has to find, by name."""
        return _members(cls, Function)

    def true_values(self) -> dict[str, float | None]:
        """The true value of every learned coefficient; None where it is not known.

        Raises:
            ProblemError: one is said to be held by what is no coefficient, or cannot be.
        """
        found: dict[str, float | None] = {}
        for name, coefficient in self.learned().items():
            true = coefficient.true
            if isinstance(true, str):
                if not isinstance(self.settings().get(true), Coefficient):
                    raise ProblemError(f"{name}: true = {true!r} names no coefficient")
                true = coefficient.check_true(getattr(self, true))
            elif callable(true):
                what = f"the true value of {name}"
                known = {k: v for k, v in self.values().items() if k != name}
                true = coefficient.check_true(call_by_name(true, known, what))
            found[name] = true
        return found

    def values(self) -> dict[str, float | str]:
        """The present value of every coefficient and choice, learned ones as plain numbers."""
        present = {name: getattr(self, name) for name in self.settings()}
        return {k: v.item() if isinstance(v, Tensor) else v for k, v in present.items()}

    def bound(self, values: Mapping[str, Tensor]) -> Self:
        """A copy whose learned coefficients read as these tensors, so that gradients flow in."""
        other = copy.copy(self)
        other.__dict__.update(values)
        return other

    # --- what a subclass writes -----------------------------------------------------------------

    def residual(self, *args: Any, **kwargs: Any) -> Any:
        """The PDE's residual, zero for a solution: shape (N,); a dict of them for a system."""
        raise NotImplementedError

    def conditions(self) -> Iterable[Condition]:
        """The conditions that a solution meets."""
        return ()

    # optional: `solution(self, x, t)`, shape (N,) or a dict of them, float64 in and out;
    # `ansatz(self, n, x, t)`, the fields from the raw network outputs; `hard_ansatz(self, n, x,
    # t)`, one that meets all conditions, taken where it is asked for; `features(self, x, t)`, the
    # network's inputs as a tuple. Their absence is meaningful, so the base has none.

    # --- what the library reads -----------------------------------------------------------------

    def has(self, method: str) -> bool:
        """Whether the subclass wrote an optional method (solution, ansatz or features)."""
        return callable(getattr(self, method, None))

    def call(self, method: str, available: Mapping[str, Any]) -> Any:
        """Call one of its methods with arguments found by name."""
        return call_by_name(getattr(self, method), available, f"{type(self).__name__}.{method}")

    @property
    def ansatz_name(self) -> str | None:
        """The method that makes the fields from the raw network outputs, if there is one."""
        name = "hard_ansatz" if self.hard else "ansatz"
        return name if self.has(name) else None

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the raw network outputs: those that fields are made of, then the functions.

        Of an ansatz they are its own parameters.

        Raises:
            ProblemError: the ansatz has no such parameter.
        """
        functions = tuple(self.functions())
        if self.ansatz_name is None:
            return (*self.fields, *functions)
        names = parameter_names(getattr(self, self.ansatz_name))
        known = (*self.domain.names, *functions)
        outputs = tuple(name for name in names if name not in known)
        if not outputs:
            raise ProblemError(
                f"{type(self).__name__}.{self.ansatz_name} names no output of the network: write "
                f"{self.ansatz_name}(self, n, {', '.join(self.domain.names)})"
            )
        return (*outputs, *functions)

    def own_collocation(self) -> Sites | None:
        """Return the points of `collocation_points`; None where they are drawn.

        Raises:
            ProblemError: they are no points of the domain.
        """
        given = self.collocation_points
        table: Any = given() if callable(given) else given
        if table is None:
            return None
        what = f"{type(self).__name__}.collocation_points"
        return Sites(GivenPoints(table, None, None, what).sites(self.domain).points)

    def bound_conditions(self) -> list[Condition]:
        """The conditions, with the settings that their functions may name.

        Raises:
            ProblemError: something yielded is no condition.
        """
        found = self.conditions()
        conditions = list(found) if isinstance(found, Iterable) else [found]
        for condition in conditions:
            if not isinstance(condition, Condition):
                raise ProblemError(
                    f"{type(self).__name__}.conditions gives {condition!r}, which is no condition: "
                    "write yield Dirichlet(...), one for each"
                )
        if self.time_slab is not None:
            conditions = self.time_slab.conditions(conditions, str(self.domain.time))
        settings = {name: getattr(self, name) for name in self.settings()}
        functions = tuple(self.functions())
        bound = [condition.bound(self.domain, settings) for condition in conditions]
        for condition in bound:
            condition.functions = functions
        return bound

    @cached_property
    def hard_names(self) -> tuple[str, ...]:
        """Of what its hard conditions make: "fields", "features", both or nothing.

        Raises:
            ProblemError: it has an ansatz or features of its own beside them.
        """
        if self.hard:
            return ()
        hard = [condition for condition in self.bound_conditions() if condition.hard]
        made = {"features" if condition.makes_features else "fields" for condition in hard}
        for name, own in (("fields", "ansatz"), ("features", "features")):
            if name in made and self.has(own):
                raise ProblemError(
                    f"{type(self).__name__}: conditions with hard=True make the {name}, and so "
                    f"does {own}: leave one of them out"
                )
        return tuple(sorted(made))

    def terms(self) -> dict[str, Condition]:
        """The conditions by term name: initial, boundary, interface, integral, data.

        Where a group has several, each adds where it holds (boundary_x-, boundary_x_y+), and a
        number where that repeats (boundary_x_2). A name of its own beats that.

        Raises:
            ProblemError: something yielded is no condition, or two have one name.
        """
        conditions = self.bound_conditions()
        if self.hard:
            # an ansatz for the start of all time knows nothing of joints
            conditions = [
                c
                for c in conditions
                if c.group not in ("initial", "boundary") or isinstance(c, Joint)
            ]
        elif not self.tries_hard:
            conditions = [condition for condition in conditions if not condition.hard]
        groups = [c.group for c in conditions if c.name is None]
        named: dict[str, Condition] = {}
        for condition in conditions:
            name = condition.name or _automatic_name(condition, groups, named)
            if name in named or name == INTERIOR:
                raise ProblemError(f"two terms are named {name!r}: give a condition another name=")
            if name in GROUPS and name != condition.group:
                raise ProblemError(
                    f"a term of the group {condition.group} is named {name!r}, as another group "
                    "is: give the condition another name="
                )
            named[name] = condition
        return named


def _members(cls: type, kind: type[Member]) -> dict[str, Member]:
    """What a class declares of one kind, by name."""
    return dict(_found_members(cls, kind))


@lru_cache(maxsize=512)
def _found_members(cls: type, kind: type) -> tuple[tuple[str, Any], ...]:
    """The same; looked for once, for every evaluation of a loss asks."""
    return tuple(inspect.getmembers_static(cls, lambda member: isinstance(member, kind)))


def _automatic_name(condition: Condition, groups: list[str], taken: Mapping[str, Any]) -> str:
    name, number = condition.group, 2
    if groups.count(condition.group) > 1:
        name += condition.place and f"_{condition.place}"
    first = name
    while name in taken:
        name, number = f"{first}_{number}", number + 1
    return name
