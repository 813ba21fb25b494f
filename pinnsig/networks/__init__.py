"""Networks: weights and forward pass, nothing else."""

from pinnsig.networks.adaptive import Adaptive
from pinnsig.networks.base import Network
from pinnsig.networks.ffnn import FFNN, Stack
from pinnsig.networks.fourier import Fourier, FourierFeatures
from pinnsig.networks.modified_mlp import ModifiedMLP
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
from pinnsig.networks.siren import Siren

__all__ = [
    "FFNN",
    "NETWORKS",
    "OWN",
    "Adaptive",
    "Fourier",
    "FourierFeatures",
    "ModifiedMLP",
    "Network",
    "NetworkSpec",
    "PirateNet",
    "ResNet",
    "Siren",
    "Stack",
    "network_options",
    "parse_network",
    "register_network",
    "usual_settings",
]
