"""The end of a run: its weights, result and figures, whatever ended it and whatever the numbers."""

import contextlib
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from pinnsig.core.errors import RunError, TrainingError, one_line
from pinnsig.core.memory import in_words
from pinnsig.model.evaluation import Comparison, compare, compare_functions
from pinnsig.objective import Objective
from pinnsig.run.building import RunComponents
from pinnsig.run.callbacks import Callbacks
from pinnsig.run.checkpoints import NEWEST, PREVIOUS, trim_checkpoint
from pinnsig.run.directory import WEIGHTS, RunDirectory
from pinnsig.run.figures import draw_figures
from pinnsig.run.judging import Judgement, judge
from pinnsig.run.results import Losses, Result, result_data, true_losses
from pinnsig.training import INTERRUPTED, Outcome, Trainer

Value = TypeVar("Value")


@dataclass
class Ending:
    """What it takes to end a run.

    Attributes:
        directory: where all goes; another one, once it cannot be written.
        facts: what the result says besides: `at_start`, `resumed`.
        figures: whether to draw them.
        keep_checkpoint: whether a finished run keeps all of a large checkpoint.
    """

    parts: RunComponents
    trainer: Trainer
    callbacks: Callbacks
    directory: RunDirectory
    at_start: dict[str, Any]
    resumed: int
    figures: bool
    keep_checkpoint: bool

    def finish(self, outcome: Outcome) -> Result:
        """Leave weights, result and figures, in this order; return the result.

        What cannot be had of the result is left open, and `suspicious` says why.

        Raises:
            TrainingError: weights or result can be written nowhere.
        """
        self.save_weights("last", outcome)
        self.save_weights("best", outcome)
        with np.errstate(all="ignore"):  # numbers may be anything
            data, comparisons, functions, judgement = self._findings(outcome)
        data = {
            "run": str(self.directory.path), **data,
            "seconds": self.trainer.seconds, "resumed": self.resumed,
        }  # fmt: skip
        self._put(lambda to: to.write_json("result.json", {**data, "run": str(to.path)}))
        data["run"] = str(self.directory.path)
        if self.figures and comparisons:
            with np.errstate(all="ignore"):
                draw_figures(
                    self.directory,
                    comparisons,
                    judgement.independent,
                    self.trainer.objective,
                    self.callbacks.noticed,
                    functions=functions,
                    uncertainty=judgement.uncertainty,
                )
        if outcome.stop != INTERRUPTED and outcome.failure is None and not self.keep_checkpoint:
            self._trim()
        return Result(self.directory.path, data)

    def save_weights(self, which: str, outcome: Outcome) -> None:
        """Set the parameters to the `best` or the `last` ones, and write them down."""
        values = outcome.best if which == "best" else outcome.last
        if outcome.failure is not None and not values.isfinite().all():
            values = outcome.best  # an error came within a step
        self.trainer.objective.flat.restore(values)
        weights = self.parts.model.state_dict()
        self._put(lambda to: to.save_weights(WEIGHTS[which], weights))

    def _findings(
        self, outcome: Outcome
    ) -> tuple[dict[str, Any], dict[str, Comparison], dict[str, Comparison], Judgement]:
        """What the result says, fields and functions on grids, and what the judge found."""
        parts, objective = self.parts, self.trainer.objective
        failures: list[str] = []

        def attempt(what: str, call: Callable[[], Value], otherwise: Value) -> Value:
            try:
                return call()
            except Exception as error:  # the problem's own code, memory: training is done
                failures.append(f"{what} could not be had: {one_line(error)}")
                return otherwise

        known: Losses = {
            "best": (outcome.best_loss, list(outcome.terms.values())),
            "last": (outcome.last_loss, []),
        }
        losses = attempt(
            "the loss in float64", lambda: true_losses(objective, self.directory), known
        )
        comparisons = attempt("the solution on a grid", lambda: compare(parts.model), {})
        functions = attempt("functions on a grid", lambda: compare_functions(parts.model), {})
        best = dict(zip(objective.term_names, losses["best"][1], strict=True))
        judgement = judge(objective, best, parts.settings.seed, self.figures)
        judgement.failures += failures
        data = result_data(
            parts, objective, outcome, comparisons, losses, self.at_start, judgement, functions
        )
        return data, comparisons, functions, judgement

    def _trim(self) -> None:
        try:
            dropped = trim_checkpoint(self.directory)
        except (RunError, OSError):  # there may be none, where the disk was full
            return
        if dropped:
            self.callbacks.noticed(
                f"what the optimiser remembers ({in_words(dropped)}) is not kept: a resume for "
                "longer starts it anew from the last weights (--keep-checkpoint keeps it)"
            )

    # --- where nothing can be written -------------------------------------------------------------

    def _put(self, write: Callable[[RunDirectory], None]) -> None:
        """Write into the run directory, or where there is room."""
        try:
            write(self.directory)
        except RunError as error:
            self.directory = self._moved(error)
            try:
                write(self.directory)
            except RunError as again:
                raise TrainingError(f"{error}; {again}", self.directory.path) from None

    def _moved(self, error: RunError) -> RunDirectory:
        """Another directory, with what can be read of the run's own."""
        try:
            path = Path(tempfile.mkdtemp(prefix="pinnsig-"))
        except OSError as again:
            raise TrainingError(
                f"{error}; nor is there a temporary place: {again}", self.directory.path
            ) from None
        for file in self.directory.path.glob("*.*"):
            if file.is_file() and file.name not in (NEWEST, PREVIOUS):
                with contextlib.suppress(OSError):
                    shutil.copy(file, path)
        self.callbacks.noticed(f"{error}; what the run leaves is in {path}")
        return RunDirectory(path)


def is_memory(error: BaseException) -> bool:
    """Return whether memory was what there was too little of."""
    return isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__


def failing_term(objective: Objective) -> str | None:
    """Return the name of the first term whose evaluation fails at the present parameters."""
    for block in objective.blocks:
        chunks = [chunk for chunk in objective.chunks() if chunk.block is block]
        try:
            objective.mean_squares(None, chunks, objective.weights)
        except Exception:
            return block.name
    return None
