"""Reports of runs and sweeps as one HTML file."""

from pinnsig.reports.writing import report

__all__ = ["report"]
