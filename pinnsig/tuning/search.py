"""Running a search: ask the study, run what it says on an executor, tell it what that gave."""

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pinnsig.core.gradients import own_gradients
from pinnsig.run.callbacks import Callback
from pinnsig.run.directory import RunDirectory
from pinnsig.sweeps import Executor, SweepDirectory
from pinnsig.sweeps.deaths import Deaths
from pinnsig.sweeps.directory import run_result
from pinnsig.sweeps.tasks import Ended, Started, Task
from pinnsig.tuning.asking import next_settings, searched
from pinnsig.tuning.drawing import draw
from pinnsig.tuning.objectives import value_of
from pinnsig.tuning.planning import SPEC, trial_grid
from pinnsig.tuning.pruning import PRUNED as STOPPED_EARLY
from pinnsig.tuning.pruning import Pruning
from pinnsig.tuning.spec import TuningSpec, open_study
from pinnsig.tuning.table import DONE, FAILED, PRUNED, RUNNING, Trial, Tuned

RETRY = 1  # times that a trial whose process died without getting further is tried again


class TuningWatcher:
    """What sees a search; every method does nothing until it is overridden."""

    def planned(self, found: Tuned, trials: int) -> None:
        """Before anything runs: what there is already, and how many trials there shall be."""

    def started(self, trial: Trial) -> None:
        """A trial starts, or goes on."""

    def ended(self, trial: Trial, found: Tuned, reason: str | None) -> None:
        """A trial ended; `reason` says why it failed."""

    def noticed(self, text: str) -> None:
        """What a user should know; each text once."""

    def interrupting(self, number: int) -> None:
        """At the first Ctrl-C or SIGTERM, inside the handler."""


class Search:
    """The steps of one call."""

    def __init__(
        self, spec: TuningSpec, directory: SweepDirectory, executor: Executor,
        watcher: TuningWatcher, callbacks: Sequence[Callback] = (),
    ) -> None:  # fmt: skip
        self.spec, self.directory = spec, directory
        self.executor, self.watcher = executor, watcher
        self.callbacks = tuple(callbacks)
        self.interrupted = False
        self.again: deque[int] = deque()  # numbers of trials that are to go on
        self.deaths = Deaths(directory)
        self.told: set[str] = set()
        self.numbers: dict[str, int] = {}  # of trials that run, by their run
        self.study: Any = None

    @own_gradients()
    def run(self, wanted: int) -> Tuned:
        """Run trials until there are so many, and write down what was found."""
        with self.directory.locked():
            self.directory.identity.remember()
            place = RunDirectory(self.directory.path)
            place.write_json(SPEC, self.spec.as_dict())
            self.study = open_study(place.path, self.spec.pruner, create=True)
            left = (t.number for t in self._trials() if not t.state.is_finished())
            self.again.extend(left)
            self.watcher.planned(self.found(), wanted)
            while not self.interrupted:
                for event in self.executor.run(self._tasks(wanted), self._heard):
                    if isinstance(event, Started):
                        frozen = self._trials()[self.numbers[event.name]]
                        self.watcher.started(self._trial(frozen))
                    else:
                        self._note(event)
                if not self.again:
                    break
            found = self.found()
            draw(found)
        return found

    def found(self) -> Tuned:
        """What there is by now."""
        trials = list(map(self._trial, self._trials()))
        return Tuned(self.directory.path, self.spec, trials, self.interrupted)

    def _heard(self, number: int) -> None:
        self.interrupted = True
        self.watcher.interrupting(number)

    # --- asking ---------------------------------------------------------------------------------

    def _tasks(self, wanted: int) -> Iterator[Task]:
        """What is to go on, then new trials, each asked for when there is room for it."""
        while True:
            if self.again:
                number = self.again.popleft()
            elif len(self._trials()) < wanted:
                number = len(self._trials())
                if not self._ask():
                    text = f"nothing new was found to try after {number} trials"
                    self.watcher.noticed(text)
                    return
            else:
                return
            yield self._task(number)

    def _ask(self) -> bool:
        """Add a trial of something new to the study; returns whether there is one."""
        from optuna.trial import TrialState, create_trial

        trials = self._trials()
        known = {self._run_of(searched(self.spec, trial.params)) for trial in trials}
        params = next_settings(self.spec, trials, lambda s: self._run_of(s) not in known)
        if params is None:
            return False
        distributions = self.spec.distributions()
        self.study.add_trial(
            create_trial(state=TrialState.RUNNING, params=params, distributions=distributions)
        )
        return True

    def _run_of(self, settings: Mapping[str, Any]) -> str:
        """The name of the run with searched settings."""
        (member,) = trial_grid(self.spec, settings).members()
        return member.name

    def _task(self, number: int) -> Task:
        frozen = self._trials()[number]
        grid = trial_grid(self.spec, searched(self.spec, frozen.params))
        self.directory.add(grid)
        (member,) = grid.members()
        self.numbers[member.name] = number
        self.deaths.watch(member.name)
        pruning = Pruning(
            self.directory.path.absolute(), frozen._trial_id, self.spec.pruner,
            self.spec.prune_every,
        )  # fmt: skip
        return Task(
            member.name,
            self.directory.path.absolute() / member.name,
            member.settings,
            self.directory.identity.classes.get(self.spec.problem),
            self.directory.code_of(member),
            callbacks=(*self.callbacks, *(() if self.spec.pruner == "none" else (pruning,))),
        )

    # --- telling --------------------------------------------------------------------------------

    def _note(self, event: Ended) -> None:
        for text in event.notices:
            if text not in self.told:
                self.told.add(text)
                self.watcher.noticed(text)
        number = self.numbers[event.name]
        self.interrupted |= event.interrupted
        if event.interrupted:
            return
        if event.killed and self.deaths.count(event.name) <= RETRY:
            self.again.append(number)
            return
        reason = event.reason
        if reason is None:
            reason = self._tell(number, run_result(self.directory.path / event.name))
            self.directory.succeeded(event.name)
        else:
            self.directory.failed(event.name, reason)
            self._finish(number, FAILED, None)
        found = self.found()
        self._write(found)
        self.watcher.ended(found.trials[number], found, reason)

    def _tell(self, number: int, result: Mapping[str, Any] | None) -> str | None:
        """Tell the study what a run gave; returns why it counts as failed."""
        if result is not None and result["stop"] == STOPPED_EARLY:
            self._finish(number, PRUNED, None)
            return None
        value = value_of(self.spec.objective, result)
        if value is None:
            self._finish(number, FAILED, None)
            return f"its {self.spec.objective} is not finite, or not known"
        self._finish(number, DONE, value)
        return None

    def _finish(self, number: int, state: str, value: float | None) -> None:
        from optuna.trial import TrialState

        states = {
            DONE: TrialState.COMPLETE, PRUNED: TrialState.PRUNED, FAILED: TrialState.FAIL,
        }  # fmt: skip
        self.study.tell(number, value, states[state])

    def _write(self, found: Tuned) -> None:
        place = RunDirectory(self.directory.path)
        self.directory.write_results()
        place.write_bytes("tune.csv", found.csv().encode())

    # --- the study ------------------------------------------------------------------------------

    def _trials(self) -> list[Any]:
        return self.study.get_trials(deepcopy=False)

    def _trial(self, frozen: Any) -> Trial:
        """A trial of the study in this package's words."""
        states = {"COMPLETE": DONE, "PRUNED": PRUNED, "FAIL": FAILED}
        state = states.get(frozen.state.name, RUNNING)
        settings = searched(self.spec, frozen.params) if frozen.params else {}
        value = frozen.value if state in (DONE, PRUNED) else None
        if value is not None and not math.isfinite(value):
            value = None
        return Trial(frozen.number, settings, state, value, self._run_of(settings))
