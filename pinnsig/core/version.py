"""The version of this package: here, and nowhere else."""

__version__ = "0.9.0"
