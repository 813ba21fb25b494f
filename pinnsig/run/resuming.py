"""Which settings may change when a run is resumed."""

from collections.abc import Mapping, Sequence
from typing import Any

from pinnsig.core.errors import SettingsError
from pinnsig.run.settings import COUNTS, POLISHING, Settings, check_settings, phase_table, resolve

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
    for name in COUNTS:
        if name in checked and checked[name] != getattr(settings, name):
            _check_count(settings, name, checked[name], reports)
            found[name] = checked[name]
    if checked.get("phases"):
        own = [phase_table(phase) for phase in resolve(found).phase_list()]
        found |= {"phases": own + checked["phases"], "optimizer": None, **dict.fromkeys(COUNTS)}
    return found


def _check_count(
    settings: Settings, name: str, count: int, reports: Sequence[Mapping[str, Any]]
) -> None:
    """Whether the phase of a count may have another number of iterations."""
    optimizer = settings.optimizer if name == "adam" else POLISHING.get(name, (name,))[0]
    if settings.phases:
        raise SettingsError(
            f"{name} = {count}: the run has phases of its own; add another one, "
            f"--phase {optimizer}:{count}"
        )
    present = settings.counted()
    number = [of for of in COUNTS if of in present or of == name].index(name)
    begun = reports[number:]  # its phase, if there is one, and those after it
    done = begun[0]["iterations"] if begun and name in present else 0
    if len(begun) > (name in present):
        raise SettingsError(
            f"{name} = {count} cannot change: that phase is over, after {done} iterations; add "
            f"another one, --phase {optimizer}:{count}"
        )
    if count < done:
        raise SettingsError(f"{name} = {count} cannot be: {done} iterations are done already")
