"""What the next trial tries: asked of the sampler until it is something new."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pinnsig.tuning.spec import TuningSpec

DIGITS = 6  # significant ones of a searched number
TRIES, FREE_TRIES = 30, 100  # draws until one is new: by the sampler, then at random


def next_settings(
    spec: TuningSpec, trials: Sequence[Any], is_new: Callable[[Mapping[str, Any]], bool]
) -> dict[str, Any] | None:
    """Return what the next trial tries, as Optuna has it; None where nothing new was found.

    It is a function of the arguments alone, so a search that was killed goes on as it would have.

    Args:
        spec: the search.
        trials: Optuna's, in order, those that run among them.
        is_new: whether settings, as `searched` gives them, have not been tried.
    """
    for attempt in range(TRIES + FREE_TRIES):
        sampler = spec.sampler(len(trials), attempt, free=attempt >= TRIES)
        study = optuna_study(sampler)
        study.add_trials(trials)
        params = study.ask(spec.distributions()).params
        if is_new(searched(spec, params)):
            return params
    return None


def optuna_study(sampler: Any) -> Any:
    """Return an empty study that is kept nowhere."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna.create_study(sampler=sampler)


def searched(spec: TuningSpec, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return a trial's settings, numbers with as many digits as one writes."""
    found = {}
    for axis in spec.axes:
        value = params[axis.name]
        if isinstance(value, float) and not axis.choices:
            value = min(max(float(f"{value:.{DIGITS}g}"), axis.low), axis.high)
        found[axis.name] = value
    return found
