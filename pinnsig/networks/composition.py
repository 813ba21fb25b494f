"""From a network's `forward` to the list of operations that it is made of.

`forward` runs once on a stand-in for its input, which writes down what is done to it; so it may be
any Python code, as long as no value decides what it does. Parameters have stand-ins, too: what is
computed from parameters alone, such as 1 - alpha or a normalised matrix, counts as one more tensor,
whose gradient autograd takes to the parameters.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from pinnsig.core.errors import whole_message
from pinnsig.networks.operations import Structure
from pinnsig.networks.stand_ins import CompositionError, Maker, Value, Weight, described
from pinnsig.networks.tracing import Trace
from pinnsig.networks.verification import verify

_TRACING = threading.Lock()  # a network's parameters are replaced meanwhile


@dataclass(frozen=True, eq=False)
class Composition:
    """A network as operations.

    Attributes:
        structure: the operations, on tensors of which the network's parameters come first.
        parameters: where each parameter is found, in the order of `network.parameters()`.
        others: makes each tensor beyond the parameters.
    """

    structure: Structure
    parameters: tuple[tuple[Mapping[str, Any], str], ...]
    others: tuple[Maker, ...]

    @property
    def computed(self) -> bool:
        """Whether some tensors are computed from parameters."""
        return any(self.structure.trained[len(self.parameters) :])

    def tensors(self) -> list[Tensor]:
        """The tensors as they stand, those computed from parameters differentiable in them."""
        own = [cast(Tensor, holder[name]) for holder, name in self.parameters]
        return own + [make(own) for make in self.others]


def compose(network: nn.Module) -> Composition:
    """Return the operations that a network's `forward` is made of.

    Raises:
        CompositionError: it does something that is none, or what was written down is another
            function.
    """
    holders = {
        id(p): (module._parameters, name)
        for module in network.modules()
        for name, p in module._parameters.items()
        if p is not None
    }
    named = dict(network.named_parameters())
    with _TRACING, torch.no_grad():
        trace = Trace(network)
        stand_ins: dict[str, Tensor] = {
            name: Weight.parameter(trace, p, i) for i, (name, p) in enumerate(named.items())
        }
        try:
            found = torch.func.functional_call(network, stand_ins, (Value(trace, 0),))
        except CompositionError:
            raise
        except Exception as error:
            raise CompositionError(
                f"its forward cannot be followed ({whole_message(error)})"
            ) from error
    if not isinstance(found, Value):
        raise CompositionError(f"its forward gives {described(found)}, nothing made of its input")
    parameters = tuple(holders[id(p)] for p in named.values())
    structure = trace.structure(found)
    with _TRACING:
        verify(network, structure, trace.makers)
    return Composition(structure, parameters, tuple(trace.makers))
