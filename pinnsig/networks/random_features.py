"""Random features: a network of one hidden layer of which only the output layer is found.

Source: Chen, Chi, E and Yang, J. Mach. Learn. 1 (2022) 268.
"""

import numpy as np
import torch
from torch import Tensor

from pinnsig.activations import tanh
from pinnsig.networks.ffnn import FFNN


def random_features(
    inputs: Tensor,
    outputs: int,
    count: int,
    slopes: tuple[float, float],
    generator: np.random.Generator,
) -> FFNN:
    """Return a network of one hidden layer, tanh ridges at random places, whose output is zero.

    Args:
        inputs: of the network, at points all over the domain, shape (N, inputs).
        outputs: how many.
        count: how many ridges.
        slopes: the flattest and the steepest, in halves of an input's range.
        generator: of their slopes and places.
    """
    low, high = inputs.min(0).values.cpu().numpy(), inputs.max(0).values.cpu().numpy()
    middle, half = (low + high) / 2, np.where(high > low, (high - low) / 2, 1.0)
    along = generator.standard_normal((count, len(low)))
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    flattest, steepest = np.log(slopes)
    along *= np.exp(generator.uniform(flattest, steepest, (count, 1)))
    places = generator.uniform(-1.0, 1.0, (count, len(low)))
    network = FFNN(len(low), outputs, 1, count, tanh, inputs.dtype, inputs.device)
    hidden, last = network.linears
    with torch.no_grad():
        hidden.weight.copy_(torch.as_tensor(along / half))
        hidden.bias.copy_(torch.as_tensor(-(along * (places + middle / half)).sum(1)))
        last.weight.zero_()
        last.bias.zero_()
    return network
