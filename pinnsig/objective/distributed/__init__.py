"""One loss over several processes: each holds some of the points."""

from pinnsig.objective.distributed.follower import (
    Ask,
    Convert,
    Fault,
    Follower,
    Hold,
    Holding,
    fault_of,
)
from pinnsig.objective.distributed.leader import DealtObjective
from pinnsig.objective.distributed.rows import DealtRows, least_squares, mean_row_squares
from pinnsig.objective.distributed.shares import Share, deal

__all__ = [
    "Ask",
    "Convert",
    "DealtObjective",
    "DealtRows",
    "Fault",
    "Follower",
    "Hold",
    "Holding",
    "Share",
    "deal",
    "fault_of",
    "least_squares",
    "mean_row_squares",
]
