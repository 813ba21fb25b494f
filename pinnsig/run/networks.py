"""The network of a run: a registered one, or one that the user gives from Python."""

import copy
import inspect
from collections.abc import Callable, Mapping
from typing import Any, cast

import torch
from torch import Tensor, nn

from pinnsig.activations import Activation
from pinnsig.core.devices import DTYPES
from pinnsig.core.errors import PinnsigError, SettingsError, one_line
from pinnsig.core.seeds import FUNCTIONS, weight_generator
from pinnsig.initializers import Initializer
from pinnsig.model.fields import function_coordinates, input_count
from pinnsig.networks import FFNN, OWN, Network, SideBySide, main_network, parse_network
from pinnsig.problem import Problem
from pinnsig.run.settings import Settings

Own = nn.Module | Callable[..., nn.Module]
"""A network of the user's: itself, or what makes it of `inputs` and `outputs`."""

TRIED = 24  # points that an own network is tried on
SHAKEN = 0.1  # what its weights are moved by then: zeros in its last layer would hide the rest
CLOSE = {torch.float64: 1e-9, torch.float32: 1e-3}  # of the largest value


def own_network(given: Mapping[str, Any]) -> tuple[dict[str, Any], Own | None]:
    """Return settings with the network's name in the place of an own network, and that network.

    Raises:
        SettingsError: what is given is neither a text, a module nor a callable.
    """
    network = given.get("network")
    if network is None or isinstance(network, str):
        return dict(given), None
    if not callable(network):
        raise SettingsError(
            f"network = {network!r} cannot be: give the text of a registered one, an nn.Module, or "
            "a callable that makes one of inputs and outputs"
        )
    own = cast(Own, network)
    return {**given, "network": OWN + _name(own)}, own


def make_network(
    settings: Settings,
    inputs: int,
    outputs: int,
    activation: Activation,
    initializer: Initializer,
    own: Own | None = None,
) -> nn.Module:
    """Return the network of a run's fields, with the weights that it starts from.

    An own one that has an `initialize` (`pinnsig.initializers.base.Initializable`) is filled by the
    initialiser; any other keeps its weights.

    Args:
        own: the user's, which stays as it is.

    Raises:
        SettingsError: the network cannot be made, or used.
        PinnsigError: the initialiser does not suit it.
    """
    generator = weight_generator(settings.seed)
    place: dict[str, Any] = {"dtype": DTYPES[settings.dtype], "device": settings.device}
    sizes = inputs, outputs, settings.depth, settings.width
    if own is None:
        network = parse_network(settings.network).build(*sizes, activation, **place)
        initializer.fill(network, generator)
        return network
    if not settings.network.startswith(OWN):
        raise SettingsError(
            f"the network of this run is {settings.network}, a registered one: leave network out"
        )
    offered = {
        "depth": settings.depth,
        "width": settings.width,
        "activation": activation,
        "generator": generator,
        **place,
    }
    module = _made(own, inputs, outputs, offered).to(**place)
    _check(module, inputs, outputs)
    if is_drawn(module):
        initializer.fill(module, generator)  # type: ignore[arg-type]
    return module


def add_functions(
    network: nn.Module,
    problem: Problem,
    settings: Settings,
    activation: Activation,
    initializer: Initializer,
) -> nn.Module:
    """Return a network with those of the problem's unknown functions beside it, all initialised.

    Without unknown functions it is the network itself.

    Args:
        network: of the fields.
        problem: with its functions.
        settings: type, device and seed.
        activation: of the functions' networks.
        initializer: fills them.

    Raises:
        PinnsigError: the initialiser does not suit them.
    """
    functions = problem.functions().values()
    if not functions:
        return network
    names = function_coordinates(problem)
    inputs = input_count(problem)
    own = inputs - len(names)
    place: dict[str, Any] = {"dtype": DTYPES[settings.dtype], "device": settings.device}
    parts = [FFNN(len(f.of), 1, f.depth, f.width, activation, **place) for f in functions]
    columns = [[own + names.index(name) for name in f.of] for f in functions]
    outputs = len(problem.outputs) - len(parts)
    whole = SideBySide(network, parts, columns, (own, inputs), outputs)
    initializer.fill(whole, weight_generator(settings.seed, FUNCTIONS))
    return whole


def network_notices(network: nn.Module, inputs: int) -> list[str]:
    """Return a line where an own network's second partials are 0 everywhere, as with ReLU."""
    if isinstance(network, Network) or not _is_piecewise_linear(network, inputs):
        return []
    return [
        f"network {type(network).__name__} is piecewise linear, as with ReLU: its second partials "
        "are 0 everywhere, so that it cannot meet an equation of second order; take a smooth "
        "activation, such as nn.Tanh() or nn.SiLU()"
    ]


def _is_piecewise_linear(network: nn.Module, inputs: int) -> bool:
    tried = copy.deepcopy(network)
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(TRIED, inputs, generator=generator, dtype=torch.float64)
    x = x.to(next(tried.parameters()).detach()).requires_grad_()
    with torch.enable_grad():
        (slope,) = torch.autograd.grad(tried(x).sum(), x, create_graph=True, materialize_grads=True)
        if not slope.requires_grad:
            return True
        (bend,) = torch.autograd.grad(slope.square().sum(), x, materialize_grads=True)
    return not bend.any()


def is_drawn(network: nn.Module) -> bool:
    """Return whether an initialiser fills a network; else its weights are its own."""
    return callable(getattr(main_network(network), "initialize", None))


def signal_depth(network: nn.Module, otherwise: int) -> int:
    """Return the depth that a network is initialised for."""
    main = main_network(network)
    return main.signal_depth if isinstance(main, Network) else otherwise


def _name(network: Own) -> str:
    named = type(network) if isinstance(network, nn.Module) else network
    return getattr(named, "__qualname__", type(network).__name__).removeprefix(".")


def _made(own: Own, inputs: int, outputs: int, offered: Mapping[str, Any]) -> nn.Module:
    """A copy of a module, or what a callable makes; torch's generator is the run's seed's then."""
    name = _name(own)
    try:
        if isinstance(own, nn.Module):
            return copy.deepcopy(own)
        taken = inspect.signature(own).parameters
        given = {key: value for key, value in offered.items() if key in taken}
        device = torch.device(offered["device"])
        with torch.random.fork_rng([device] if device.type == "cuda" else []):
            torch.manual_seed(offered["generator"].initial_seed())
            made = own(inputs, outputs, **given)
    except PinnsigError:
        raise
    except Exception as error:
        raise SettingsError(
            f"network {name} cannot be made of {inputs} inputs and {outputs} outputs: "
            f"{one_line(error)}"
        ) from error
    if not isinstance(made, nn.Module):
        raise SettingsError(f"network {name} must make an nn.Module, not {type(made).__name__}")
    return made


def _check(module: nn.Module, inputs: int, outputs: int) -> None:
    """Refuse a module that is no function of one point, or not of these shapes.

    It is tried on points together, once more, and apart, as a problem's code is
    (`pinnsig.objective.pointwise`).
    """
    name = type(module).__name__
    weights = list(module.parameters())
    if not weights:
        raise SettingsError(f"network {name} has no parameters: there is nothing to train")
    for key, weight in module.named_parameters():
        if not weight.requires_grad:
            raise SettingsError(
                f"network {name}: the parameter {key} does not require a gradient: what is not "
                "trained is a buffer (register_buffer)"
            )
    generator = torch.Generator().manual_seed(0)

    def random(shape: torch.Size | tuple[int, ...]) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(weights[0])

    x = random((TRIED, inputs))
    tried = copy.deepcopy(module)
    with torch.no_grad():
        for weight in tried.parameters():
            weight += SHAKEN * random(weight.shape)
    whole = _value(tried, x, name)
    if whole.shape != (TRIED, outputs):
        raise SettingsError(
            f"network {name} gives the shape {tuple(whole.shape)} for {TRIED} points: it must be "
            f"{(TRIED, outputs)}, a column for each of the {outputs} fields"
        )
    if not torch.equal(whole.nan_to_num(), _value(tried, x, name).nan_to_num()):
        raise SettingsError(
            f"network {name} gives another value each time it is evaluated: it must be a function "
            "of its inputs and weights, without dropout or other chance (call its eval())"
        )
    near = CLOSE.get(whole.dtype, CLOSE[torch.float32]) * float(whole.abs().max())
    half = TRIED // 2
    for rows in (slice(0, half), slice(half, None), slice(None, None, 3), slice(5, 6)):
        part = _value(tried, x[rows], name)
        if part.shape != whole[rows].shape or not torch.allclose(
            part, whole[rows], rtol=0.0, atol=near, equal_nan=True
        ):
            raise SettingsError(
                f"network {name} mixes points: its value at one point changes with those beside "
                "it, as by batch normalisation or attention over points; it must see each point "
                "by itself"
            )


@torch.no_grad()
def _value(module: nn.Module, x: Tensor, name: str) -> Tensor:
    try:
        found = module(x)
    except Exception as error:
        raise SettingsError(
            f"network {name} cannot take {len(x)} points of {x.shape[1]} inputs, the shape "
            f"{tuple(x.shape)}: {one_line(error)}"
        ) from error
    if not isinstance(found, Tensor):
        raise SettingsError(f"network {name} must give a tensor, not {type(found).__name__}")
    return found
