"""Fields of a problem at points, and the record of which partials an expression reads."""

import re
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from pinnsig.core.errors import PinnsigError, ProblemError, one_line
from pinnsig.core.types import Inputs, Points, Table
from pinnsig.derivatives.engine import Engine, output_jets
from pinnsig.derivatives.inputs import (
    Features,
    ScaledCoordinates,
    coordinate_jets,
    stack_inputs,
)
from pinnsig.derivatives.jet import Jet, Part
from pinnsig.derivatives.plan import Alpha, Plan
from pinnsig.problem import Domain, Problem, hard_features, hard_fields
from pinnsig.problem.hard import unit_map

Fields = Mapping[str, Jet]
Expression = Callable[[Fields, Fields], Any]
"""Something computed from the fields and the coordinates, both by name."""


def fields_of(problem: Problem, outputs: list[Jet], coordinates: Fields) -> dict[str, Jet]:
    """The problem's fields: the raw outputs themselves, or what its ansatz makes of them.

    Its unknown functions follow, by their names.

    Raises:
        ProblemError: the ansatz does not give one jet per field.
    """
    pairs = zip(problem.outputs, outputs, strict=True)
    named = {name: rescaled(problem, name, jet) for name, jet in pairs}
    known = problem.functions().items()
    functions = {key: function.value(named.pop(key)) for key, function in known}
    return {**_own_fields(problem, named, functions, coordinates), **functions}


def _own_fields(
    problem: Problem, raw: Fields, functions: Fields, coordinates: Fields
) -> dict[str, Jet]:
    """The fields alone, from what they are made of, and what else an ansatz may read."""
    if "fields" in problem.hard_names:
        return hard_fields(problem.domain, problem.bound_conditions(), raw, coordinates)
    name = problem.ansatz_name
    if name is None:
        return dict(raw)
    found = problem.call(name, {**raw, **functions, **coordinates})
    if isinstance(found, dict):
        if set(found) != set(problem.fields):
            called = getattr(getattr(problem, name), "__name__", name)  # a hard one may stand in
            given = ", ".join(map(str, found)) or "nothing"
            raise ProblemError(
                f"{type(problem).__name__}.{called} must return {len(problem.fields)} field(s), "
                f"{', '.join(problem.fields)}: it returns {given}"
            )
        found = tuple(found.get(field) for field in problem.fields)
    found = found if isinstance(found, tuple | list) else (found,)
    own = getattr(getattr(problem, name), "__name__", name)  # a hard one may stand in for it
    what = f"{type(problem).__name__}.{own} must return {len(problem.fields)} field(s)"
    if len(found) != len(problem.fields):
        raise ProblemError(f"{what}, {', '.join(problem.fields)}: it returns {len(found)}")
    for field, jet in zip(problem.fields, found, strict=True):
        if not isinstance(jet, Jet):
            raise ProblemError(
                f"{what} with their partials, and {field} is a plain {type(jet).__name__}: compute "
                f"it from {', '.join(raw)} and the coordinates by arithmetic and torch's functions "
                "(.value, indexing, torch.stack and functions of several points lose the partials)"
            )
    return dict(zip(problem.fields, found, strict=True))


def rescaled(problem: Problem, name: str, output: Any) -> Any:
    """Return a raw output as the problem's scales have it: middle + size * the network's."""
    if name not in problem.output_scales:
        return output
    middle, size = problem.output_scales[name]
    return output * size + middle if middle else output * size


def features_of(problem: Problem) -> Features | None:
    """The problem's own network inputs, or scaled coordinates; None for plain ones.

    What unknown functions depend on follows, always scaled.
    """
    own, names = _own_features(problem), function_coordinates(problem)
    if not names:
        return own
    beside = _scaled(problem.domain, names)

    def features(coordinates: Mapping[str, Any]) -> list[Any]:
        first = list(coordinates.values()) if own is None else own(coordinates)
        return [*first, *beside(coordinates)]

    return features


def function_coordinates(problem: Problem) -> tuple[str, ...]:
    """Return the coordinates that unknown functions depend on, in the domain's order."""
    read = {name for function in problem.functions().values() for name in function.of}
    return tuple(name for name in problem.domain.names if name in read)


def _own_features(problem: Problem) -> Features | None:
    if "features" in problem.hard_names:
        conditions = problem.bound_conditions()
        return lambda at: hard_features(problem.domain, conditions, at, problem.scaled_inputs)
    if not problem.has("features"):
        return _scaled(problem.domain, problem.domain.names) if problem.scaled_inputs else None

    def features(coordinates: Mapping[str, Any]) -> list[Any]:
        found = guarded(problem, "features", lambda: problem.call("features", coordinates))
        return list(found) if isinstance(found, tuple | list) else [found]

    return features


def _scaled(domain: Domain, names: tuple[str, ...]) -> ScaledCoordinates:
    """Coordinates on [-1, 1]."""
    return ScaledCoordinates({name: unit_map(domain, name) for name in names})


def input_count(problem: Problem) -> int:
    """How many inputs the problem's network has, those of its unknown functions among them.

    Raises:
        ProblemError: its features fail.
    """
    features = features_of(problem)
    if features is None:
        return problem.domain.dimensions
    middle = 0.5 * (problem.domain.lower + problem.domain.upper)
    points = torch.as_tensor(middle).repeat(2, 1)
    return guarded(problem, "features", lambda: network_inputs(problem, points)).shape[1]


def network_inputs(problem: Problem, points: Points) -> Inputs:
    """Return the network's inputs at points."""
    features = features_of(problem)
    if features is None:
        return points
    return stack_inputs([jet.value for jet in features(_coordinates(problem, points))])


def fields_at(
    problem: Problem, network: nn.Module, engine: Engine, points: Points, plan: Plan
) -> tuple[dict[str, Jet], dict[str, Jet]]:
    """Return the fields and the coordinates at points, as jets by name."""
    table = engine.partials(network, features_of(problem), points, plan)
    return fields_from(problem, table, points, plan)


def fields_from(
    problem: Problem, table: Table, points: Points, plan: Plan
) -> tuple[dict[str, Jet], dict[str, Jet]]:
    """Return the same from the partials of the network's outputs."""
    coordinates = _coordinates(problem, points)
    return fields_of(problem, output_jets(table, plan), coordinates), coordinates


def trace_partials(
    problem: Problem,
    expression: Expression,
    points: Points,
    *,
    ansatz: bool = True,
    what: str = "expression",
) -> tuple[Plan, Any]:
    """Evaluate an expression once on stand-in values and note which partials it reads.

    Args:
        points: a few of the domain.
        what: what the expression is called if it fails.
        ansatz: note the partials of the network's outputs, below the ansatz; else of the fields.

    Returns:
        The plan that the expression needs, and what it gave.

    Raises:
        ProblemError: the problem's own code fails.
    """
    read: set[Alpha] = set()
    generator = torch.Generator().manual_seed(0)

    def leaf() -> Jet:
        def part(alpha: Alpha) -> Part:
            read.add(alpha)
            return torch.rand(len(points), generator=generator, dtype=torch.float64).to(points)

        return Jet(problem.domain.names, part, points[:, 0])

    def run() -> Any:
        coordinates = _coordinates(problem, points)
        if ansatz:
            fields = fields_of(problem, [leaf() for _ in problem.outputs], coordinates)
        else:
            fields = {name: leaf() for name in (*problem.fields, *problem.functions())}
        return expression(fields, coordinates)

    with torch.no_grad():
        result = guarded(problem, what, run)
    return Plan.closing(problem.domain.names, read), result


def guarded(problem: Problem, what: str, call: Callable[[], Any]) -> Any:
    """Call into a problem's code; its failures become one line that names the problem."""
    try:
        return call()
    except PinnsigError:
        raise
    except (Exception, SystemExit) as error:
        raise ProblemError(
            f"{type(problem).__name__}: {what} fails with {one_line(error)}{_place(error)}"
        ) from error


OWN = str(Path(__file__).parent.parent)
FOREIGN = re.compile(r"\b(?:math|np|numpy)\.([a-z]\w*)\(")


def _place(error: BaseException) -> str:
    """Where a problem's code failed, and what to write in the place of numbers' functions."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [f for f in frames if not f.filename.startswith(OWN) and "packages" not in f.filename]
    if not theirs or not theirs[-1].line:
        return ""
    found = FOREIGN.search(theirs[-1].line)
    hint = "" if found is None else f"; for fields and coordinates write torch.{found[1]}(...)"
    return f", in line {theirs[-1].lineno}: {theirs[-1].line.strip():.80}{hint}"


def _coordinates(problem: Problem, points: Points) -> dict[str, Jet]:
    return coordinate_jets(problem.domain.names, points)
