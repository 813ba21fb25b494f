"""The settings of slabs of time, and their models read back."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pinnsig.core.errors import RunError
from pinnsig.model import Model, SlabModel
from pinnsig.problem import Problem, Slab, slab_ends
from pinnsig.problem.slab import Ends
from pinnsig.run.building import RunComponents, build
from pinnsig.run.directory import WEIGHTS, RunDirectory
from pinnsig.run.networks import Own
from pinnsig.run.settings import COUNTS, Settings, phase_table


def cut(
    settings: Settings, problem: type[Problem], network: Own | None = None
) -> tuple[Settings, RunComponents, list[float]]:
    """Return settings with all that is one for the slabs, the parts over all time, and the ends.

    Raises:
        PinnsigError: settings or a problem that cannot be had, or cannot be cut.
    """
    if settings.normalize is None:
        settings = replace(settings, normalize=True)  # a slab's short time is no input
    whole = build(settings, problem, network)
    ends = slab_ends(whole.problem, settings.slabs)
    found = whole.settings
    one = replace(
        settings, set=found.set, normalize=found.normalize, scaling=found.scaling, slabs=ends[1:]
    )
    return one, whole, ends


def slab_settings(settings: Settings, number: int, spent: float = 0.0) -> Settings:
    """Return the settings of one slab: its share of iterations and of the seconds that are left.

    Args:
        settings: of the run, from `cut`.
        number: of the slab, from 0.
        spent: seconds on the slabs before it.
    """
    assert isinstance(settings.slabs, list)
    slabs = len(settings.slabs)
    share: dict[str, Any] = {n: _share(getattr(settings, n), slabs) for n in COUNTS}
    if settings.phases:
        share["phases"] = [
            {**phase_table(p), "iterations": _share(p.iterations, slabs)}
            for p in settings.phase_list()
        ]
    if settings.max_seconds is not None:
        share["max_seconds"] = max((settings.max_seconds - spent) / (slabs - number), 1e-9)
    return replace(settings, **share, slabs=1)


def load_slabs(
    settings: Settings,
    problem_type: type[Problem],
    network: Own | None,
    directory: RunDirectory,
    weights: str,
) -> SlabModel:
    """Return the model of a run over slabs.

    Raises:
        RunError: not all slabs are trained.
    """
    settings, whole, ends = cut(settings, problem_type, network)
    count = len(ends) - 1
    slabs = directory.slabs()
    done = [own for own in slabs if (own.path / WEIGHTS[weights]).is_file()]
    if len(done) < count:
        raise RunError(
            f"{directory.path} has {len(done)} of {count} slabs: go on with "
            f"pinnsig resume {directory.path}"
        )
    models = [
        load_slab(settings, number, problem_type, network, slab_between(ends, number), own, weights)
        for number, own in enumerate(done[:count])
    ]
    return SlabModel(whole.problem, models, ends)


def slab_between(ends: Sequence[float], number: int, before: Ends | None = None) -> Slab:
    """Return a slab, from 0, of those with these ends."""
    return Slab(ends[number], ends[number + 1], number == len(ends) - 2, before)


def load_slab(
    settings: Settings,
    number: int,
    problem_type: type[Problem],
    network: Own | None,
    slab: Slab,
    directory: RunDirectory,
    weights: str = "best",
) -> Model:
    """Return the model of a slab that is trained, in the type of its weights.

    Raises:
        RunError: its weights cannot be read.
    """
    model = build(slab_settings(settings, number), problem_type, network, slab).model
    state = directory.load_weights(WEIGHTS[weights])
    model.to(next(iter(state.values())).dtype)
    model.load_state_dict(state)
    return model


def _share(count: int | None, slabs: int) -> int | None:
    return None if count is None else -(-count // slabs)
