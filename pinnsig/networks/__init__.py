"""Networks: weights and forward pass, and the operations that a forward pass is made of."""

from pinnsig.networks.adaptive import Adaptive
from pinnsig.networks.base import Network
from pinnsig.networks.composition import Composition, compose
from pinnsig.networks.ffnn import FFNN, Stack, stack_key
from pinnsig.networks.fourier import Fourier, FourierFeatures
from pinnsig.networks.modified_mlp import ModifiedMLP
from pinnsig.networks.operations import Structure
from pinnsig.networks.pirate import PirateNet
from pinnsig.networks.registry import (
    NETWORKS,
    OWN,
    NetworkSpec,
    network_options,
    parse_network,
    register_network,
    usual_settings,
)
from pinnsig.networks.resnet import ResNet
from pinnsig.networks.side_by_side import SideBySide, main_inputs, main_network
from pinnsig.networks.siren import Siren
from pinnsig.networks.stand_ins import CompositionError

__all__ = [
    "FFNN",
    "NETWORKS",
    "OWN",
    "Adaptive",
    "Composition",
    "CompositionError",
    "Fourier",
    "FourierFeatures",
    "ModifiedMLP",
    "Network",
    "NetworkSpec",
    "PirateNet",
    "ResNet",
    "SideBySide",
    "Siren",
    "Stack",
    "Structure",
    "compose",
    "main_inputs",
    "main_network",
    "network_options",
    "parse_network",
    "register_network",
    "stack_key",
    "usual_settings",
]
