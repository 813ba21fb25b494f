"""What an optimiser is, and what it can ask for.

An iteration is a generator: it yields requests about the parameters as they stand and is sent the
answers. Who answers (a trainer, a batch of runs, a test) is no concern of the optimiser, and a
request may wait while others are served.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import torch
from torch import Tensor

if TYPE_CHECKING:
    from pinnsig.optim.gauss_newton.linearization import Linearization

Returned = TypeVar("Returned")

# --- requests, all about the parameters as they stand -------------------------------------------
# each is answered with None where a limit on evaluations or time forbids it


@dataclass(frozen=True)
class Gradient:
    """Loss and gradient; answered with `Measured`.

    Attributes:
        along: shape (P,), the direction that the slope is taken along.
    """

    along: Tensor | None = None


@dataclass(frozen=True)
class Loss:
    """The loss without its gradient; answered with `Measured`."""


@dataclass(frozen=True)
class Residuals:
    """All residuals, scaled so that loss = |r|^2; answered with a tensor of shape (N,)."""


@dataclass(frozen=True)
class Jacobian:
    """The residuals' derivatives in the parameters; answered with `Rows` or `SharedRows`."""


@dataclass(frozen=True)
class Pullback:
    """J^T u; answered with a tensor of shape (P,).

    Attributes:
        cotangent: u, shape (N,), in the order of `Residuals`.
    """

    cotangent: Tensor


Request = Gradient | Loss | Residuals | Jacobian | Pullback


# --- answers ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """An evaluation.

    Attributes:
        loss: what is minimised.
        slope: its derivative along the direction that was asked about; 0 without one.
        gradient: shape (P,), overwritten by the next evaluation; None where it was not asked for.
        terms: the loss's mean squares without weights.
    """

    loss: float
    slope: float = 0.0
    gradient: Tensor | None = None
    terms: tuple[float, ...] = ()


RowBlock = tuple[slice, Tensor, Tensor]


class Rows(Protocol):
    """Scaled residuals r and their Jacobian J, loss = |r|^2, a bounded number of rows at a time."""

    @property
    def count(self) -> int:
        """N, the number of rows."""
        ...

    def blocks(
        self, most: int, out: Tensor | None = None
    ) -> Iterator[tuple[slice, Tensor, Tensor]]:
        """Where the rows stand among all, r of shape (M,), J of shape (M, P), with M <= most.

        Args:
            most: rows held at once; at least those of one point are.
            out: memory for J, shape (most, P), contiguous, which is then written over and over.
        """
        ...


class SharedRows(ABC):
    """Scaled residuals and their Jacobian, of which several processes hold some of the rows each.

    Attributes:
        count: N, the number of rows.
        shares: how many processes.
    """

    count: int
    shares: int

    @abstractmethod
    def linearization(self, held: bool, block: int, group: int) -> "Linearization":
        """Return the products with J that the processes make together.

        Args:
            held: whether each keeps its rows; else they are computed anew for each product.
            block: rows that each computes together.
            group: rows that are sent around at once.
        """


# --- optimisers ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """What one iteration did.

    Attributes:
        loss: the loss at the parameters that the step reports on.
        stop: why no further iteration makes sense, or None.
        terms: as in `Measured`, at the same parameters.
        notice: what a user should know, in one line; told once.
    """

    loss: float
    stop: str | None = None
    terms: tuple[float, ...] = ()
    notice: str | None = None


LIMIT = "limit"
"""Stop reason: no further evaluation is allowed."""

Steps = Generator[Request, Any, Step]


@dataclass(frozen=True)
class Layout:
    """The size of what is to be minimised.

    Attributes:
        shapes: of the parameters, in the order in which theta holds them.
        rows: how many residuals there are, N.
        dtype, device: of theta.
        shares: processes that hold as many rows each.
    """

    shapes: tuple[torch.Size, ...]
    rows: int
    dtype: torch.dtype
    device: torch.device
    shares: int = 1

    @property
    def parameters(self) -> int:
        """P."""
        return sum(shape.numel() for shape in self.shapes)


class Optimizer(ABC):
    """Base of the optimisers; each keeps its own memory between steps.

    Attributes:
        name: what phases call it.
        first_order: whether a step is one evaluation of loss and gradient, without a line search.
        precise: whether it wants float64 where the device has it.
        scheduled: whether it has a learning rate that a schedule can change.
        factor: what a schedule makes of the learning rate at present.
    """

    name: str
    first_order: bool = False
    precise: bool = False
    scheduled: bool = False
    factor: float = 1.0

    @property
    def learning_rate(self) -> float | None:
        """The present learning rate, where there is such a thing."""
        return None

    def prepare(self, layout: Layout) -> str | None:
        """Meet the size of the task before anything is trained.

        Returns:
            What a user should know of it (which form is taken, how much memory), in one line.

        Raises:
            SettingsError: it cannot be done; says the size and what would do.
        """
        del layout
        return None

    @abstractmethod
    def step(self, theta: Tensor) -> Steps:
        """One iteration: move theta, shape (P,), in place; the requests are about theta."""

    def renew(self) -> None:  # noqa: B027, most have nothing to forget
        """Meet another loss, at new points or with new weights: what was measured is void.

        What was learned of the curvature is kept.
        """

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """All that the next step depends on: tensors, numbers, texts, lists and dicts of them."""

    @abstractmethod
    def load(self, state: dict[str, Any], like: Tensor) -> None:
        """Go on from a state, with tensors of the type and on the device of `like`."""

    def inherit(self, previous: "Optimizer", like: Tensor) -> None:
        """Take over what is worth it from the optimiser of the phase before."""
        if type(previous) is type(self):
            self.load(previous.state(), like)
            self.renew()


def drive(asking: Generator[Any, Any, Returned], answer: Callable[[Any], Any]) -> Returned:
    """Run a generator of requests to its end; what answering raises is raised within it."""
    reply: Any = None
    error: BaseException | None = None
    while True:
        try:
            request = asking.send(reply) if error is None else asking.throw(error)
        except StopIteration as end:
            return end.value
        try:
            reply, error = answer(request), None
        except BaseException as raised:
            error = raised
