"""Networks: weights and forward pass, nothing else."""

from pinnsig.networks.ffnn import FFNN, Stack

__all__ = ["FFNN", "Stack"]
