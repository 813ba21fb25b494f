"""What a search is: its space, objective, seed and pruner, and the study that remembers it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinnsig.core.errors import RunError, SettingsError
from pinnsig.core.extras import require_extra
from pinnsig.core.registry import Registry
from pinnsig.tuning.space import Axis

STUDY = "pinnsig"
JOURNAL = "study.journal"
STEPS = 2**31  # seeds of trials are apart by a step of the search's


def _median() -> Any:
    from optuna.pruners import MedianPruner

    return MedianPruner(n_startup_trials=5)


def _hyperband() -> Any:
    from optuna.pruners import HyperbandPruner

    return HyperbandPruner(min_resource=1)


def _none() -> Any:
    from optuna.pruners import NopPruner

    return NopPruner()


PRUNERS: Registry[Callable[[], Any]] = Registry("pruner", SettingsError)
"""What ends trials early; makes a pruner of Optuna."""
for _name, _make in (("median", _median), ("hyperband", _hyperband), ("none", _none)):
    PRUNERS.register(_name, _make)


@dataclass(frozen=True)
class TuningSpec:
    """A search.

    Attributes:
        problem: its name, as in sweeps.
        settings: of all trials.
        axes: what is searched.
        objective: what is made small.
        pruner: what ends trials early.
        prune_every: iterations between its looks.
        seed: of the search; the same one with one worker asks for the same trials.
    """

    problem: str
    settings: dict[str, Any]
    axes: tuple[Axis, ...]
    objective: str
    pruner: str
    prune_every: int
    seed: int

    def as_dict(self) -> dict[str, Any]:
        """In JSON; two searches are the same if these are."""
        return {
            "problem": self.problem,
            "settings": self.settings,
            "search": [axis.as_dict() for axis in self.axes],
            "objective": self.objective,
            "pruner": self.pruner,
            "prune_every": self.prune_every,
            "seed": self.seed,
        }

    def distributions(self) -> dict[str, Any]:
        """Of every axis, for Optuna."""
        return {axis.name: axis.distribution() for axis in self.axes}

    def sampler(self, number: int, attempt: int = 0, free: bool = False) -> Any:
        """What asks for a trial; the same for the same trials before it, however often resumed.

        Args:
            number: of the trial.
            attempt: how often it was asked for before.
            free: whether it asks at random.
        """
        from optuna.samplers import RandomSampler, TPESampler

        seed = (self.seed + number * 7919 + attempt * 104729) % STEPS
        return RandomSampler(seed) if free else TPESampler(seed=seed, constant_liar=True)


def require_optuna() -> None:
    """Refuse to go on without Optuna.

    Raises:
        SettingsError: it is not installed.
    """
    require_extra("optuna", "tune", "a search", SettingsError)


def open_study(folder: Path, pruner: str, create: bool = False) -> Any:
    """The study of a search, from the journal in its directory.

    Raises:
        RunError: the journal is damaged.
    """
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    file = str(folder / JOURNAL)
    try:
        storage = JournalStorage(JournalFileBackend(file, JournalFileOpenLock(file)))
        if create:
            return optuna.create_study(
                study_name=STUDY, storage=storage, pruner=PRUNERS[pruner](), load_if_exists=True
            )
        return optuna.load_study(study_name=STUDY, storage=storage, pruner=PRUNERS[pruner]())
    except (KeyError, ValueError, OSError) as error:
        raise RunError(f"{file} is no journal of a search: {error}") from None
