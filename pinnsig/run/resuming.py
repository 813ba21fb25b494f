"""Which settings may change when a run is resumed."""

from collections.abc import Mapping, Sequence
from typing import Any

from pinnsig.core.errors import SettingsError
from pinnsig.run.settings import COUNTS, Settings, check_settings, phase_table, resolve

FREE = frozenset({
    "device", "deterministic", "engine", "log_every", "error_every", "checkpoint_every",
    "stop_loss", "stop_error", "max_seconds",
})  # fmt: skip


def changed_settings(
    saved: Mapping[str, Any], changes: Mapping[str, Any], reports: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """A run's settings with changes.

    Args:
        saved: the settings in `config.json`.
        changes: by name; `phases` are added to the run's own.
        reports: of the phases that have begun.

    Raises:
        SettingsError: a change that cannot be made, with the reason.
    """
    checked = check_settings(changes)
    settings = resolve({**saved, "device": checked.get("device") or saved.get("device")})
    found = {**saved, **{name: checked[name] for name in FREE & set(checked)}}
    if checked.get("device") not in (None, saved.get("device")):
        found["engine"] = checked.get("engine", "auto")  # the old one may not suit
    for name in set(checked) - FREE - {"phases", *COUNTS}:
        if checked[name] != getattr(settings, name):
            raise SettingsError(
                f"{name} = {checked[name]} cannot change when a run is resumed: its weights and "
                f"points were made with {name} = {getattr(settings, name)}; start another run"
            )
    for number, name in enumerate(COUNTS):
        if name in checked and checked[name] != getattr(settings, name):
            _check_count(settings, name, checked[name], number, reports)
            found[name] = checked[name]
    if checked.get("phases"):
        own = [phase_table(phase) for phase in resolve(found).phase_list()]
        found |= {"phases": own + checked["phases"], "optimizer": None, **dict.fromkeys(COUNTS)}
    return found


def _check_count(
    settings: Settings, name: str, count: int, number: int, reports: Sequence[Mapping[str, Any]]
) -> None:
    """Whether the phase that Adam or L-BFGS is may have another number of iterations."""
    optimizer = {"adam": settings.optimizer, "lbfgs": "lbfgs", "broyden": "ssbroyden"}[name]
    if settings.phases:
        raise SettingsError(
            f"{name} = {count}: the run has phases of its own; add another one, "
            f"--phase {optimizer}:{count}"
        )
    done = reports[number]["iterations"] if number < len(reports) else 0
    if number < len(reports) - 1:
        raise SettingsError(
            f"{name} = {count} cannot change: that phase is over, after {done} iterations; add "
            f"another one, --phase {optimizer}:{count}"
        )
    if count < done:
        raise SettingsError(f"{name} = {count} cannot be: {done} iterations are done already")
