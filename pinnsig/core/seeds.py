"""Streams of random numbers: each use of a seed has one of its own."""

import numpy as np
import torch

FIELDS, FUNCTIONS = 0x57, 0x46
"""Streams of initial weights: of the fields' network, and of unknown functions'."""


def weight_generator(seed: int, stream: int = FIELDS) -> torch.Generator:
    """The stream that initial weights are drawn from, apart from every sampling stream."""
    (state,) = np.random.SeedSequence([seed, stream]).generate_state(1, np.uint64)
    return torch.Generator().manual_seed(int(state) & (2**63 - 1))
