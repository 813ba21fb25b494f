"""Sweeps: grids of runs, resumable and in parallel, with their tables and comparisons."""

from pinnsig.sweeps.batched import Batched
from pinnsig.sweeps.directory import SweepDirectory
from pinnsig.sweeps.executors import Executor, InProcess
from pinnsig.sweeps.files import read_sweep
from pinnsig.sweeps.grid import Grid, Member, make_grid
from pinnsig.sweeps.pool import Pool
from pinnsig.sweeps.running import SweepWatcher, run_planned
from pinnsig.sweeps.sweeping import choose_executor, plan, sweep
from pinnsig.sweeps.table import Row, Spread, SweepTable

__all__ = [
    "Batched",
    "Executor",
    "Grid",
    "InProcess",
    "Member",
    "Pool",
    "Row",
    "Spread",
    "SweepDirectory",
    "SweepTable",
    "SweepWatcher",
    "choose_executor",
    "make_grid",
    "plan",
    "read_sweep",
    "run_planned",
    "sweep",
]
