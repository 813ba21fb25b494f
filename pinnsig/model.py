"""`Model`: a problem, the network that approximates its solution, and its learned coefficients."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from pinnsig.errors import DerivativeError, ProblemError
from pinnsig.jets import Engine, Jet, Plan, choose_engine, fields_at, network_inputs, record
from pinnsig.jets.plan import Alpha, parse_partial
from pinnsig.problem import Problem


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

    def coefficients(self) -> dict[str, Tensor]:
        """The learned coefficients, each of shape (), differentiable in the parameters."""
        return {name: b.value(self.unknowns[name]) for name, b in self.bijections.items()}

    def coefficient_values(self) -> dict[str, float]:
        """The learned coefficients as plain numbers."""
        return {name: float(value.detach()) for name, value in self.coefficients().items()}

    def bound(self) -> Problem:
        """A copy of the problem with the learned coefficients as they stand, as constants."""
        return self.problem.bound({name: c.detach() for name, c in self.coefficients().items()})

    def fields(
        self, engine: Engine, points: Tensor, plan: Plan
    ) -> tuple[dict[str, Jet], dict[str, Jet]]:
        """Fields and coordinates at points of shape (N, dimensions), as jets by name."""
        return fields_at(self.bound(), self.network, engine, points, plan)

    def inputs(self, points: Tensor) -> Tensor:
        """The network's inputs at points of shape (N, dimensions), shape (N, inputs)."""
        return network_inputs(self.bound(), points)

    @torch.no_grad()
    def predict(
        self, coordinates: Mapping[str, Tensor], quantities: tuple[str, ...] = ()
    ) -> dict[str, Tensor]:
        """Fields and partials at given points.

        Args:
            coordinates: a tensor of shape (N,) for every coordinate of the domain.
            quantities: what to give, such as "u", "u.x" or "u.xt"; none means all fields.

        Returns:
            A tensor of shape (N,) for each quantity, of the network's type, on its device.

        Raises:
            ProblemError: a coordinate is missing, unknown or of another length.
            DerivativeError: a quantity names no field or partial.
        """
        names = self.problem.domain.names
        if set(coordinates) != set(names):
            raise ProblemError(
                f"coordinates {', '.join(names)} are needed, and no others; "
                f"given are {', '.join(coordinates) or 'none'}"
            )
        shapes = {name: tuple(coordinates[name].shape) for name in names}
        if len(set(shapes.values())) != 1 or any(len(s) != 1 for s in shapes.values()):
            raise ProblemError(f"coordinates need one common length, not shapes {shapes}")
        wanted = {q: self._parse(q) for q in quantities or self.problem.fields}
        like = next(self.network.parameters())
        points = torch.stack([coordinates[name] for name in names], dim=1).to(like)

        def expression(fields: Mapping[str, Jet], at: Mapping[str, Jet]) -> dict[str, Tensor]:
            del at
            return {q: fields[field].tensor(alpha) for q, (field, alpha) in wanted.items()}

        plan, _ = record(self.bound(), expression, points[:2])
        return expression(*self.fields(choose_engine("auto", self.network), points, plan))

    def _parse(self, quantity: str) -> tuple[str, Alpha]:
        field, _, partial = quantity.replace("_", ".", 1).partition(".")
        names = self.problem.domain.names
        alpha = parse_partial(partial, names) if partial else (0,) * len(names)
        if field not in self.problem.fields or alpha is None:
            raise DerivativeError(
                f"{quantity!r} is no field or partial: fields {', '.join(self.problem.fields)}, "
                f"coordinates {', '.join(self.problem.domain.names)} (write u or u.xt)"
            )
        return field, alpha
