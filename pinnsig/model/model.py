"""`Model`: a problem, the network that approximates its solution, and its learned coefficients."""

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pinnsig.core.errors import OutsideDomainWarning, ProblemError
from pinnsig.core.gradients import own_gradients
from pinnsig.core.names import Alpha, parse_quantity
from pinnsig.core.types import FieldValues, Inputs, Points, Scalar
from pinnsig.derivatives import Engine, Jet, Plan, choose_engine
from pinnsig.model.fields import fields_at, fields_from, network_inputs, trace_partials
from pinnsig.problem import Problem

CHUNK = 2**23
"""Numbers of one stack of partials that a prediction carries through a network at a time."""
FEWEST = 1024  # points of a chunk, however wide a network is


class Model(nn.Module):
    """What is trained, saved and asked for predictions.

    A coefficient declared `learn=True` becomes a parameter theta, which starts at zero; its value
    is that of a bijection onto what the coefficient may be (`pinnsig.problem.bijections`).

    Attributes:
        start: what learned coefficients start at.
        bijections: from the parameters to their values.

    Raises:
        ProblemError: the network's type has no number between a coefficient's limits.
    """

    def __init__(self, problem: Problem, network: nn.Module) -> None:
        super().__init__()
        self.problem = problem
        self.network = network
        like = next(network.parameters())
        self.start = {name: float(getattr(problem, name)) for name in problem.learned()}
        learned = problem.learned()
        self.bijections = {name: learned[name].bijection(c0) for name, c0 in self.start.items()}
        for name, bijection in self.bijections.items():
            least, largest = bijection.range(like.dtype)
            if least > largest:
                raise ProblemError(f"{name}: {like.dtype} has no number between its limits")
        self.unknowns = nn.ParameterDict(
            {name: nn.Parameter(like.new_zeros(())) for name in self.start}
        )

    def coefficients(self) -> dict[str, Scalar]:
        """Return the learned coefficients, differentiable in the parameters."""
        return {name: b.value(self.unknowns[name]) for name, b in self.bijections.items()}

    def coefficient_values(self) -> dict[str, float]:
        """The learned coefficients as plain numbers."""
        return {name: float(value.detach()) for name, value in self.coefficients().items()}

    def bound(self) -> Problem:
        """A copy of the problem with the learned coefficients as they stand, as constants."""
        return self.problem.bound({name: c.detach() for name, c in self.coefficients().items()})

    def fields(
        self, engine: Engine, points: Points, plan: Plan
    ) -> tuple[dict[str, Jet], dict[str, Jet]]:
        """Return fields and coordinates at points, as jets by name."""
        return fields_at(self.bound(), self.network, engine, points, plan)

    def forward(self, points: Points) -> FieldValues:
        """Return the fields' values at points, with the problem's ansatz.

        Differentiable in the weights, the learned coefficients and the points; where the ansatz
        reads derivatives of the network, not in the points.
        """
        problem = self.problem.bound(self.coefficients())

        def values(fields: Mapping[str, Jet], at: Mapping[str, Jet]) -> FieldValues:
            del at
            return torch.stack([fields[name].value for name in problem.fields], dim=1)

        plan, _ = trace_partials(problem, values, points[:2])
        if len(plan) == 1:
            table = self.network(network_inputs(problem, points)).unsqueeze(0)
            return values(*fields_from(problem, table, points, plan))
        engine = choose_engine("auto", self.network, [plan])
        return values(*fields_at(problem, self.network, engine, points, plan))

    def inputs(self, points: Points) -> Inputs:
        """Return the network's inputs at points."""
        return network_inputs(self.bound(), points)

    @own_gradients()
    @torch.no_grad()
    def predict(
        self, coordinates: Mapping[str, Any], quantities: tuple[str, ...] = ()
    ) -> dict[str, Tensor]:
        """Fields, unknown functions and partials at given points.

        Points outside the domain are answered, with a warning (`OutsideDomainWarning`). Many points
        are answered chunk by chunk, so that memory grows with what is given and asked for alone.

        Args:
            coordinates: for every coordinate of the domain a number, or an array or tensor, of
                shapes that broadcast; for functions alone, those that they depend on will do.
            quantities: what to give, such as "u", "u.x" or "u.xt"; none means all fields.

        Returns:
            For each quantity a tensor of the shape that they broadcast to, of the network's type,
            on its device.

        Raises:
            ProblemError: a coordinate is missing, unknown, no finite number, or of a shape that
                does not fit.
            DerivativeError: a quantity names no field or partial.
        """
        domain, fields = self.problem.domain, self.problem.fields
        known = (*fields, *self.problem.functions())
        wanted = {q: parse_quantity(q, known, domain.names) for q in quantities or fields}
        columns = broadcast(domain.names, {**self._unread(wanted.values()), **coordinates})
        shape = columns[0].shape
        places = np.stack([column.ravel() for column in columns], axis=1)
        outside = domain.describe_outside(places)
        if outside:
            warnings.warn(
                f"{outside}; there the network was not trained", OutsideDomainWarning, stacklevel=4
            )
        points = torch.from_numpy(places).to(next(self.network.parameters()))

        def expression(fields: Mapping[str, Jet], at: Mapping[str, Jet]) -> dict[str, Tensor]:
            del at
            return {q: fields[field].tensor(alpha) for q, (field, alpha) in wanted.items()}

        plan, empty = trace_partials(self.bound(), expression, points[:2])
        if not len(points):
            return {q: values.reshape(shape) for q, values in empty.items()}
        engine = choose_engine("auto", self.network)
        chunks = [
            expression(*self.fields(engine, chunk, plan))
            for chunk in points.split(self._chunk(len(plan)))
        ]
        return {q: torch.cat([c[q] for c in chunks]).reshape(shape) for q in wanted}

    def _chunk(self, partials: int) -> int:
        """How many points go through the network at a time."""
        width = max(size for p in self.network.parameters() for size in p.shape)
        return max(CHUNK // (partials * width), FEWEST)

    def _unread(self, wanted: Iterable[tuple[str, Alpha]]) -> dict[str, float]:
        """Coordinates that none of some quantities depends on, each with one of its values."""
        domain, functions = self.problem.domain, self.problem.functions()
        read = {
            name
            for quantity, _ in wanted
            for name in (functions[quantity].of if quantity in functions else domain.names)
        }
        return {name: domain.interval(name)[0] for name in domain.names if name not in read}


def broadcast(names: tuple[str, ...], given: Mapping[str, Any]) -> list[NDArray[np.float64]]:
    """Return coordinates in the domain's order, in float64, brought to one shape."""
    if set(given) != set(names):
        raise ProblemError(
            f"coordinates {', '.join(names)} are needed, and no others; "
            f"given are {', '.join(given) or 'none'}"
        )
    columns = {}
    for name in names:
        values = given[name]
        try:
            if isinstance(values, Tensor):
                wide = values.double() if values.is_floating_point() else values
                values = wide.detach().cpu().numpy()
            columns[name] = np.atleast_1d(values).astype(np.float64, casting="same_kind")
        except (TypeError, ValueError):
            raise ProblemError(
                f"coordinate {name} holds something that is no real number"
            ) from None
        if not np.isfinite(columns[name]).all():
            bad = int(np.count_nonzero(~np.isfinite(columns[name])))
            raise ProblemError(
                f"coordinate {name}: {bad} of {columns[name].size} values are not finite"
            )
    try:
        return [np.asarray(column) for column in np.broadcast_arrays(*columns.values())]
    except ValueError:
        shapes = ", ".join(f"{name} {column.shape}" for name, column in columns.items())
        raise ProblemError(f"the coordinates' shapes do not fit each other: {shapes}") from None
