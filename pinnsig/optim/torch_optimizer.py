"""Optimisers of PyTorch's interface, those of `torch.optim` and users' own, as one of these.

A closure cannot wait for an answer as a generator can. So a step that asks for more evaluations
than there are is put back to its beginning, and taken again with one more: an optimiser that calls
its closure n times repeats its own algebra up to n times, but no evaluation of the loss.
"""

import copy
import inspect
import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pinnsig.core.errors import SettingsError
from pinnsig.core.registry import Registry
from pinnsig.optim.base import LIMIT, Gradient, Layout, Measured, Optimizer, Request, Step, Steps

Make = Callable[[list[Tensor]], torch.optim.Optimizer]
"""Makes an optimiser for the network's parameters, in their own shapes."""

TORCH_OPTIMIZERS: Registry[Callable[..., torch.optim.Optimizer]] = Registry(
    "optimiser",
    SettingsError,
    {
        f"torch.{name}": cls
        for name, cls in inspect.getmembers_static(torch.optim, inspect.isclass)
        # the base class, and one whose gradients are to be sparse
        if name not in ("Optimizer", "SparseAdam") and issubclass(cls, torch.optim.Optimizer)
    },
)
"""The classes of `torch.optim` by the names that phases have for them, such as torch.AdamW."""


class TorchOptimizer(Optimizer):
    """Carries a PyTorch optimiser; one step is one call of its `step`.

    The loss that a step reports is that of its first evaluation, before it moves. A schedule
    multiplies the learning rates of all its groups.

    Args:
        make: makes it from the parameters: a class, or a function.
        name: what the phase is called.
    """

    first_order = True

    def __init__(self, make: Make, name: str) -> None:
        self.make, self.name = make, name
        self.scheduled = True
        self._shapes: tuple[torch.Size, ...] = ()
        self._bound: _Bound | None = None

    @property
    def learning_rate(self) -> float | None:
        """The present learning rate, of the first group."""
        return self._bound.learning_rate if self._bound else None

    def prepare(self, layout: Layout) -> None:
        """See `Optimizer.prepare`.

        Raises:
            SettingsError: it cannot be made from these parameters.
        """
        self._shapes = layout.shapes
        trial = self._bind(torch.zeros(layout.parameters, dtype=layout.dtype, device=layout.device))
        self.scheduled = bool(trial.rates)
        self.first_order = not isinstance(trial.optimizer, torch.optim.LBFGS)

    def step(self, theta: Tensor) -> Steps:
        """See `Optimizer.step`.

        Raises:
            SettingsError: it draws at random, and wants more than one evaluation.
        """
        if self._bound is None or self._bound.theta is not theta:
            state = self.state()
            self._bound = self._bind(theta)
            self._bound.load(state, self.name)
        bound = self._bound
        bound.set_factor(self.factor)
        first = yield Gradient()
        if first is None:
            return Step(math.nan, LIMIT)
        if not math.isfinite(first.loss):
            return Step(first.loss, terms=first.terms)
        if bound.is_plain:
            bound.step_along(first)
        elif not (yield from _with_closure(bound, first, self.name)):
            return Step(math.nan, LIMIT)
        return Step(first.loss, terms=first.terms)

    def _bind(self, theta: Tensor) -> "_Bound":
        shapes = self._shapes or (theta.shape,)
        try:
            return _Bound(self.make, theta, shapes)
        except Exception as error:  # a user's own function
            raise SettingsError(f"{self.name} cannot be made: {error}") from error

    def renew(self) -> None:
        """See `Optimizer.renew`; L-BFGS forgets, since its next pair would be of two losses."""
        if self._bound is not None and isinstance(self._bound.optimizer, torch.optim.LBFGS):
            self._bound.optimizer.state.clear()

    def state(self) -> dict[str, Any]:
        """The optimiser's `state_dict`; empty before its first step.

        Raises:
            SettingsError: there is something in it that a checkpoint cannot hold.
        """
        return self._bound.state(self.name) if self._bound else {}

    def load(self, state: dict[str, Any], like: Tensor) -> None:
        """See `Optimizer.load`.

        Raises:
            SettingsError: the state is of another optimiser.
        """
        self._bound = self._bind(like)
        self._bound.load(state, self.name)

    def inherit(self, previous: Optimizer, like: Tensor) -> None:
        """See `Optimizer.inherit`; what it remembers of the parameters, not its settings."""
        if isinstance(previous, TorchOptimizer) and previous.name == self.name:
            self.load({**previous.state(), "groups": None}, like)
            self.renew()


class _Bound:
    """A PyTorch optimiser of the parameters that a flat vector holds.

    Attributes:
        parameters: views of theta, in the network's shapes.
        rates: learning rates of the groups before a schedule; empty where one has none.
        is_plain: whether a step makes no call of a closure.
    """

    def __init__(self, make: Make, theta: Tensor, shapes: Sequence[torch.Size]) -> None:
        self.theta, self.shapes = theta, shapes
        self.parameters = [p.requires_grad_() for p in self._views(theta.detach())]
        self.optimizer = make(list(self.parameters))
        if not isinstance(self.optimizer, torch.optim.Optimizer):
            raise SettingsError(f"{type(self.optimizer).__name__} is no torch.optim.Optimizer")
        groups = self.optimizer.param_groups
        own = {id(parameter) for parameter in self.parameters}
        if not all(id(parameter) in own for group in groups for parameter in group["params"]):
            raise SettingsError("it is made for parameters that are not those that it is given")
        rated = all("lr" in group for group in groups)
        self.rates = [float(group["lr"]) for group in groups] if rated else []
        self.factor = 1.0
        known = type(self.optimizer) in TORCH_OPTIMIZERS.values()
        asks = "closure" in inspect.signature(self.optimizer.step).parameters
        lbfgs = isinstance(self.optimizer, torch.optim.LBFGS)
        self.is_plain = not lbfgs and (known or not asks)

    def _views(self, flat: Tensor) -> list[Tensor]:
        pieces = flat.split([shape.numel() for shape in self.shapes])
        return [piece.view(shape) for piece, shape in zip(pieces, self.shapes, strict=True)]

    @property
    def learning_rate(self) -> float | None:
        """As it is now, of the first group."""
        return float(self.optimizer.param_groups[0]["lr"]) if self.rates else None

    def set_factor(self, factor: float) -> None:
        """Multiply the learning rates, where it changes: some optimisers adapt their own."""
        if factor == self.factor:
            return
        self.factor = factor
        for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate * factor)
            else:
                group["lr"] = rate * factor

    def set_gradient(self, gradient: Tensor) -> None:
        """Give every parameter its part."""
        for parameter, part in zip(self.parameters, self._views(gradient), strict=True):
            parameter.grad = part

    def step_along(self, measured: Measured) -> None:
        """Take a step that needs nothing but a gradient."""
        assert measured.gradient is not None
        self.set_gradient(measured.gradient)
        self.optimizer.step()

    def state(self, name: str) -> dict[str, Any]:
        """Return its `state_dict` as tensors, numbers, texts and lists."""
        raw = self.optimizer.state_dict()
        groups = [{k: v for k, v in g.items() if k != "params"} for g in raw["param_groups"]]
        state = {
            "factor": self.factor,
            "dtype": str(self.theta.dtype).removeprefix("torch."),
            "memory": [[key, memory] for key, memory in raw["state"].items()],
            "groups": groups,
        }
        return _storable(state, name)

    def load(self, state: dict[str, Any], name: str) -> None:
        """Go on from what `state` returned; without groups, those that it has stay."""
        if not state:
            return
        raw = self.optimizer.state_dict()
        saved = state["groups"]
        self.factor = state["factor"] if saved else self.factor
        try:
            if saved:
                pairs = zip(raw["param_groups"], saved, strict=True)
                raw["param_groups"] = [_retuple(own, {**own, **other}) for own, other in pairs]
            raw["state"] = dict(state["memory"])
            self.restore(raw, getattr(torch, state["dtype"]))
        except (ValueError, KeyError, RuntimeError) as error:
            raise SettingsError(f"{name} remembers another optimiser than this: {error}") from error

    def restore(self, raw: dict[str, Any], dtype: torch.dtype) -> None:
        """Take a copy of a `state_dict`, of parameters of a type.

        PyTorch gives every number the parameters' type. One that had another of its own keeps it:
        the product of NAdam's momenta is float32 whatever the parameters are.
        """
        self.optimizer.load_state_dict(copy.deepcopy(raw))
        for key, memory in self.optimizer.state_dict()["state"].items():
            for name, value in raw["state"][key].items():
                if isinstance(value, Tensor) and value.dtype != dtype:
                    memory[name] = memory[name].to(value.dtype)


@dataclass(frozen=True)
class _Evaluation:
    """A loss and its gradient, and where they are."""

    theta: Tensor
    loss: Tensor
    gradient: Tensor

    @staticmethod
    def of(measured: Measured, theta: Tensor) -> "_Evaluation":
        """Copy what the next evaluation overwrites."""
        assert measured.gradient is not None
        loss = torch.tensor(measured.loss, dtype=torch.float64)
        return _Evaluation(theta.clone(), loss, measured.gradient.clone())


class _MoreNeededError(Exception):
    """A closure was called more often than there are evaluations."""


def _with_closure(
    bound: _Bound, first: Measured, name: str
) -> Generator[Request, Measured | None, bool]:
    """Take a step that calls its closure; return whether it was done, or a limit forbade it."""
    theta, optimizer = bound.theta, bound.optimizer
    known = [_Evaluation.of(first, theta)]
    memory = copy.deepcopy(optimizer.state_dict())
    while True:
        bound.set_gradient(known[0].gradient)
        try:
            optimizer.step(_closure(bound, known, name))
            return True
        except _MoreNeededError:
            measured = yield Gradient()  # at theta, where it stopped
        if measured is not None:
            known.append(_Evaluation.of(measured, theta))
        theta.copy_(known[0].theta)
        bound.restore(memory, theta.dtype)
        if measured is None:
            return False


def _closure(bound: _Bound, known: Sequence[_Evaluation], name: str) -> Callable[[], Any]:
    """Return a closure that gives evaluations one after the other."""
    left = iter(known)

    def closure() -> Tensor:
        evaluation = next(left, None)
        if evaluation is None:
            raise _MoreNeededError
        if not torch.equal(bound.theta, evaluation.theta):
            raise SettingsError(
                f"{name} does not ask for the same twice: an optimiser that draws at random must "
                "do with one evaluation a step"
            )
        bound.set_gradient(evaluation.gradient)
        return evaluation.loss

    return closure


def _storable(value: Any, name: str) -> Any:
    """Return the same data, tuples as lists.

    Raises:
        SettingsError: there is something else than data in it.
    """
    if isinstance(value, dict):
        return {key: _storable(item, name) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_storable(item, name) for item in value]
    if value is None or isinstance(value, Tensor | bool | int | float | str):
        return value
    raise SettingsError(f"{name} remembers a {type(value).__name__}, which no checkpoint can hold")


def _retuple(own: dict[str, Any], saved: dict[str, Any]) -> dict[str, Any]:
    """Return saved settings of a group, with tuples where the optimiser has tuples."""
    tuples = {k for k, v in own.items() if isinstance(v, tuple)}
    return {k: tuple(v) if k in tuples else v for k, v in saved.items()}
