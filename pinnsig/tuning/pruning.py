"""Ending a trial that falls behind the others, from within its run."""

import math
from pathlib import Path
from typing import Any

from pinnsig.run.building import RunComponents
from pinnsig.run.callbacks import Callback
from pinnsig.training import Record, StopTraining
from pinnsig.tuning.spec import open_study

PRUNED = "pruned"
"""The stop reason of a trial that was ended early."""


class Pruning(Callback):
    """Reports the sum of the terms' mean squares, without weights, and ends what falls behind.

    Args:
        folder: of the search, whose journal all of its processes share.
        trial: its id in the study.
        pruner: the name of the pruner.
        every: iterations between reports.
    """

    def __init__(self, folder: Path, trial: int, pruner: str, every: int) -> None:
        self.folder, self.trial, self.pruner, self.every = folder, trial, pruner, every
        self._trial: Any = None
        self._last = -1

    def started(self, parts: RunComponents, path: Path) -> None:
        """Open the study."""
        del parts, path
        from optuna.trial import Trial

        study = open_study(self.folder, self.pruner)
        self._trial = Trial(study, self.trial)
        known = study._storage.get_trial(self.trial).intermediate_values
        self._last = max(known, default=-1)

    def recorded(self, record: Record) -> None:
        """Report, and ask whether to go on."""
        if record.step == 0 or record.step % self.every or record.step <= self._last:
            return
        self._last = record.step
        found = math.fsum(record.terms.values())
        self._trial.report(found if math.isfinite(found) else math.inf, record.step)
        if self._trial.should_prune():
            raise StopTraining(PRUNED)
