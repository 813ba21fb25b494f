"""A model as a program of torch's operations alone: features, network, ansatz, scales and units."""

import copy
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from pinnsig.core.errors import ExportError, PinnsigError, one_line
from pinnsig.core.names import parse_quantity
from pinnsig.core.types import Column
from pinnsig.derivatives.inputs import input_partials
from pinnsig.derivatives.operation_tape import OperationTape
from pinnsig.model import Model, SlabModel
from pinnsig.model.fields import Fields, features_of, fields_from, network_inputs, trace_partials
from pinnsig.networks import CompositionError, compose
from pinnsig.run.export.source import Source

TRACED, CHECKED = 7, 200  # points
CLOSE = {torch.float64: 1e-6, torch.float32: 1e-4}
"""Of a quantity's largest value: by how much a program may differ from the run."""


class FieldProgram(nn.Module):
    """Quantities of a model from its coordinates; partials by forward Taylor mode.

    Args:
        model: with its learned coefficients as they stand.
        quantities: fields, unknown functions and partials.

    Raises:
        ExportError: partials of a network that is no composition of known operations.
    """

    def __init__(self, model: Model, quantities: Sequence[str]) -> None:
        super().__init__()
        self.problem, self.network = model.bound(), model.network
        domain = self.problem.domain
        known = (*self.problem.fields, *self.problem.functions())
        self.wanted = {q: parse_quantity(q, known, domain.names) for q in quantities}
        middle = torch.as_tensor(0.5 * (domain.lower + domain.upper)).repeat(2, 1)
        like = next(model.network.parameters())
        self.plan, _ = trace_partials(self.problem, self._read, middle.to(like))
        if len(self.plan) > 1:
            try:
                self.composition = compose(model.network)
            except CompositionError as error:
                raise ExportError(
                    f"partials of a {type(model.network).__name__} cannot be exported: {error}"
                ) from None

    def forward(self, *columns: Column) -> dict[str, Column]:
        """Return the quantities by name.

        Args:
            columns: the coordinates in the domain's order, each of shape (N,).
        """
        points = torch.stack(columns, dim=1)
        if len(self.plan) == 1:
            table = self.network(network_inputs(self.problem, points)).unsqueeze(0)
        else:
            inputs = input_partials(features_of(self.problem), points, self.plan)
            tensors = [tensor.to(inputs) for tensor in self.composition.tensors()]
            structure = self.composition.structure
            table = OperationTape(inputs, structure, tensors, self.plan, False).forward()
        return self._read(*fields_from(self.problem, table, points, self.plan))

    def _read(self, fields: Fields, at: Fields) -> dict[str, Column]:
        del at
        return {q: fields[name].tensor(alpha) for q, (name, alpha) in self.wanted.items()}


class SlabProgram(nn.Module):
    """The same of slabs of time: all are evaluated, and each point takes its own slab's."""

    def __init__(self, model: SlabModel, quantities: Sequence[str]) -> None:
        super().__init__()
        parts = (m for m in model.models if isinstance(m, Model))
        self.programs = nn.ModuleList(FieldProgram(m, quantities) for m in parts)
        self.ends = model.ends[1:-1]
        self.time = model.problem.domain.names.index(str(model.problem.domain.time))

    def forward(self, *columns: Column) -> dict[str, Column]:
        """See `FieldProgram.forward`."""
        *before, found = (program(*columns) for program in self.programs)
        for end, own in zip(self.ends[::-1], before[::-1], strict=True):
            early = columns[self.time] <= end  # a joint is of the slab before it
            found = {q: torch.where(early, own[q], later) for q, later in found.items()}
        return found


@dataclass(frozen=True)
class Program:
    """A traced program.

    Attributes:
        exported: takes a column for each coordinate, gives quantities by name.
        example: such columns.
        source: what it was made of.
    """

    exported: ExportedProgram
    example: tuple[Column, ...]
    source: Source

    @property
    def metadata(self) -> dict[str, str]:
        """What a reader has to know, as texts; lists in JSON."""
        domain = self.source.problem.domain
        intervals = {name: list(domain.interval(name)) for name in domain.names}
        return {
            **{name: str(value) for name, value in self.source.about.items()},
            "inputs": json.dumps(intervals),
            "outputs": json.dumps(self.source.quantities),
            "dtype": str(self.example[0].dtype).removeprefix("torch."),
        }


def trace(source: Source) -> Program:
    """Return a source's model as a program of any number of points.

    Raises:
        ExportError: it holds code that cannot be followed.
    """
    model, quantities = source.model, source.quantities
    if next(model.parameters()).device.type != "cpu":
        model = copy.deepcopy(model).cpu()
    made = FieldProgram if isinstance(model, Model) else SlabProgram
    program = made(model, quantities).eval()  # type: ignore[arg-type]
    example = tuple(_points(source, TRACED, seed=0))
    sizes = {"columns": tuple({0: Dim("points", min=1)} for _ in example)}
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's own, of its next version
            found = torch.export.export(program, example, dynamic_shapes=sizes, strict=False)
    except PinnsigError:
        raise
    except Exception as error:  # whatever the problem's code or the network does
        raise ExportError(
            f"the model of {type(source.problem).__name__} cannot be exported: its code cannot be "
            f"followed ({one_line(error)[:300]})"
        ) from error
    _let_gradients_through(found)
    return Program(found, example, source)


def _let_gradients_through(exported: ExportedProgram) -> None:
    """Take out what cuts gradients off, so that a program's derivatives are the field's own.

    Activations bring a way back of their own, which a traced program does not have.
    """
    module = exported.graph_module
    for node in list(module.graph.nodes):
        if node.target is torch.ops.aten.detach.default:
            node.replace_all_uses_with(node.args[0])
            module.graph.erase_node(node)
    module.recompile()


class Check:
    """Points of another number than a program was traced with, and what it must give there."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.columns = tuple(_points(source, CHECKED, seed=1))
        names = source.problem.domain.names
        at = dict(zip(names, self.columns, strict=True))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # float32 rounds points out of the domain
            expected = source.model.predict(at, source.quantities)
        self.expected = {q: values.double().cpu().numpy() for q, values in expected.items()}

    def require(self, found: Mapping[str, NDArray[np.floating]], what: str) -> None:
        """Refuse a program that was read back and gives something else.

        Raises:
            ExportError: says by how much it is off.
        """
        for quantity, expected in self.expected.items():
            scale = float(np.abs(expected).max()) or 1.0
            difference = float(np.abs(found[quantity] - expected).max()) / scale
            if not difference <= CLOSE[self.columns[0].dtype]:
                raise ExportError(
                    f"{what} gives another {quantity} than the run, by {difference:.1e} of its "
                    "largest value: nothing is written"
                )


def _points(source: Source, count: int, seed: int) -> Sequence[Tensor]:
    """Random points of the domain, in the precision of the run."""
    domain, generator = source.problem.domain, np.random.default_rng(seed)
    points = torch.from_numpy(domain.sample(count, lambda *shape: generator.random(shape)))
    like = next(source.model.parameters())
    return [column.clone() for column in points.to("cpu", like.dtype).unbind(1)]
