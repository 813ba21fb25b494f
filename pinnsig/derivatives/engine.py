"""What a derivative engine is: it carries a plan's partials through a network."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor, nn

from pinnsig.core.errors import DerivativeError, SettingsError
from pinnsig.core.registry import Registry, unknown
from pinnsig.core.types import InputTable, MemberFlats, Points, Table
from pinnsig.derivatives.inputs import Features
from pinnsig.derivatives.jet import Jet, Part
from pinnsig.derivatives.plan import Alpha, Plan
from pinnsig.derivatives.symbols import Symbol, Trace
from pinnsig.derivatives.tape import Tape
from pinnsig.networks import Stack


class ForwardPass:
    """Partials that were carried through a network, and the way back to what they depend on.

    The network's own graph stays behind `table`, so that a loss is differentiated in two steps:
    down to the table, and from there by the engine.

    Args:
        weights: all that the network is made of.
        made: the table, differentiable in the weights.

    Attributes:
        table: the partials, a leaf.
    """

    table: Table

    def __init__(self, weights: Iterable[Tensor], made: Table) -> None:
        self.weights, self.made = list(weights), made
        self.table = made.detach().requires_grad_(made.requires_grad)

    def add_gradient(
        self, cotangent: Table, into: MemberFlats, leaves: Sequence[Tensor]
    ) -> tuple[Tensor | None, ...]:
        """Carry a cotangent of the table back, once.

        Args:
            cotangent: of the table.
            into: what the gradient in all the network's weights is added to.
            leaves: what else the network's inputs may depend on.

        Returns:
            The gradients in the leaves.
        """
        weights = self.weights
        found = torch.autograd.grad(self.made, [*weights, *leaves], cotangent, allow_unused=True)
        own = zip(weights, found, strict=False)
        flat = [(torch.zeros_like(w) if g is None else g).flatten(into.ndim - 1) for w, g in own]
        into += torch.cat(flat, dim=-1)
        return found[len(weights) :]


class Engine(ABC):
    """Base of the derivative engines; all give the numbers of the nested one.

    Attributes:
        notice: what a user should know of its being chosen; None for nothing.
    """

    name: ClassVar[str]
    stacks: ClassVar[bool] = False  # whether it has a `carry_stack`
    cost: ClassVar[str | None] = None  # of taking it instead of the one before it, if any

    def __init__(self, deterministic: bool = False) -> None:
        self.deterministic = deterministic
        self.notice: str | None = None

    @abstractmethod
    def partials(
        self, network: nn.Module, features: Features | None, points: Points, plan: Plan
    ) -> Table:
        """Partials of the network's outputs with respect to the coordinates.

        Args:
            network: maps inputs to outputs, a row for each point.
            features: the network's inputs from the coordinates; None means the coordinates.
            points: where.
            plan: the K partials to carry.

        Returns:
            The partials in the order of the plan, differentiable in the weights.
        """

    def carry(
        self,
        network: nn.Module,
        features: Features | None,
        points: Points,
        plan: Plan,
        inputs: InputTable | None = None,
    ) -> ForwardPass:
        """The partials with the way back; arguments as for `partials`.

        Args:
            network, features, points, plan: as for `partials`.
            inputs: partials of the network's inputs, where they are known.
        """
        del inputs
        return ForwardPass(network.parameters(), self.partials(network, features, points, plan))

    def tape(self, network: nn.Module, plan: Plan, inputs: InputTable, keep: bool = True) -> Tape:
        """A pass whose gradient can be had point by point, at the weights as they stand.

        Args:
            network: what partials go through.
            plan: the K partials.
            inputs: partials of the network's inputs, outside autograd.
            keep: whether the tape has to go back, too.

        Returns:
            A tape with columns in the order of `network.parameters()`. An engine without tapes
            of its own takes those of `jets`.

        Raises:
            DerivativeError: there is none for this network.
        """
        reason = self.tape_refusal(network, plan)
        if reason is not None:
            raise DerivativeError(f"derivatives point by point cannot be had: {reason}")
        return self._taping.tape(network, plan, inputs, keep)

    def tape_refusal(self, network: nn.Module, plan: Plan) -> str | None:
        """Why there is no tape for this network and plan; None if there is one."""
        return self._taping.refusal(network, plan)

    @cached_property
    def _taping(self) -> "Engine":
        return ENGINES["jets"](self.deterministic)

    def carry_stack(self, stack: Stack, inputs: InputTable, plan: Plan) -> ForwardPass:
        """Partials of several networks, each at as many points of its own.

        Args:
            stack: the M networks.
            inputs: partials of the networks' inputs: at the points of the first network, then at
                those of the second, and so on.
            plan: the K partials.

        Returns:
            A table at all their points, whose gradient has shape (M, P).
        """
        del stack, inputs, plan
        raise DerivativeError(f"engine {self.name} carries one network at a time")

    def layers(self, network: nn.Module) -> int | None:
        """How many stacks of all partials a pass through it keeps; None for one of each matrix."""
        del network

    @abstractmethod
    def refusal(self, network: nn.Module, plan: Plan | None = None) -> str | None:
        """Why it cannot carry a plan (or any) through this network; None if it can."""


def output_jets(table: Table, plan: Plan) -> list[Jet]:
    """Return one jet for each network output."""
    # taken apart at once, so that the way back puts their gradients together at once
    return [_leaf(rows, plan, rows[0]) for rows in map(torch.unbind, table.unbind(2))]


def symbol_jets(trace: Trace, outputs: int, plan: Plan) -> list[Jet]:
    """The same with symbols in the place of numbers."""
    every = range(len(plan))
    return [_leaf([trace.leaf(k, j) for k in every], plan, trace.like) for j in range(outputs)]


def _leaf(rows: Sequence[Tensor] | Sequence[Symbol], plan: Plan, like: Tensor) -> Jet:
    def part(alpha: Alpha) -> Part:
        if alpha not in plan.index:
            raise DerivativeError(f"a partial outside the plan {plan} was read")
        return rows[plan.index[alpha]]

    return Jet(plan.coordinates, part, like)


ENGINES: Registry[type[Engine]] = Registry("engine", SettingsError)
"""Engines by name, in order of preference for `auto`."""


def register_engine(make: type[Engine]) -> type[Engine]:
    """Make an engine known by its name; a class decorator.

    Raises:
        SettingsError: the name belongs to another class.
    """
    return ENGINES.register(make.name, make)


def choose_engine(
    name: str, network: nn.Module, plans: Iterable[Plan] = (), deterministic: bool = False
) -> Engine:
    """The engine of that name, or for `auto` the first that can do what is needed.

    Args:
        name: a registered engine, or auto.
        network: what partials go through; its parameters tell device and type.
        plans: the plans that will be asked for.
        deterministic: whether gradients have to be the same bit for bit every time.

    Raises:
        SettingsError: no engine has that name, or it cannot; the message says why.
    """
    if name != "auto" and name not in ENGINES:
        raise SettingsError(unknown("engine", name, ["auto", *ENGINES]))
    needed = [None, *plans]
    reasons = []
    for make in ENGINES.values() if name == "auto" else (ENGINES[name],):
        engine = make(deterministic)
        refusals = filter(None, (engine.refusal(network, plan) for plan in needed))
        reason = next(refusals, None)
        if reason is None:
            if reasons and engine.cost:
                engine.notice = f"{reasons[-1]}; {engine.name} takes its place: {engine.cost}"
            return engine
        reasons.append(f"engine {engine.name} cannot be used: {reason}")
    raise SettingsError("; ".join(reasons))
