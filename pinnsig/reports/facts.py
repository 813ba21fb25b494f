"""What a run says of itself in numbers and words."""

from collections.abc import Mapping, Sequence
from typing import Any

from pinnsig.reports.page import Html, folded, note, number, pairs, table
from pinnsig.run.settings import ADDED
from pinnsig.run.state import FINISHED_RUN, RunState

TILES = {"relative_l2": "relative L2 error", "estimated_error": "estimated error",
         "best_loss": "lowest loss", "seconds": "seconds", "iterations": "iterations",
         "stop": "ended by"}  # fmt: skip
LEARNED = {"value": "value", "interval": "95 % interval", "start": "start", "true": "true value",
           "error": "relative error", "estimated": "estimated error",
           "standard_error": "standard error"}  # fmt: skip
ERRORS = {"relative_l2": "relative L2", "max_error": "largest", "estimated": "estimated"}


def tiles(result: Mapping[str, Any]) -> str:
    """Return the few numbers that matter most."""
    shown = "".join(
        f"<div><strong>{number(_short(result[key]))}</strong><span>{name}</span></div>"
        for key, name in TILES.items()
        if result.get(key) is not None
    )
    return f'<div class="tiles">{shown}</div>' if shown else ""


def _short(value: Any) -> Any:
    return f"{value:.3g}" if isinstance(value, float) else value


def doubts(state: RunState, result: Mapping[str, Any], notices: Sequence[str]) -> str:
    """Return what a reader has to know before anything else, a line each."""
    found = [note(text, "doubt") for text in result.get("suspicious") or ()]
    if state.name != FINISHED_RUN:
        found.insert(0, note(state.text, "doubt"))
    advice = [p["advice"] for p in result.get("phases") or () if p.get("advice")]
    return "".join([*found, *(note(text) for text in (*notices, *advice))])


def errors(result: Mapping[str, Any]) -> str:
    """Return the errors of every field and unknown function."""
    found = result.get("errors") or {}
    rows = {**(found.get("fields") or {}), **(found.get("functions") or {})}
    if len(rows) > 1 and found.get("all"):
        rows["all fields"] = found["all"]
    kept = [key for key in ERRORS if any(own.get(key) is not None for own in rows.values())]
    if not kept:
        return ""
    head = ("error", *(ERRORS[key] for key in kept))
    return table(head, [(name, *(own.get(key) for key in kept)) for name, own in rows.items()])


def coefficients(result: Mapping[str, Any]) -> str:
    """Return what was learned, with its intervals."""
    learned = {k: v for k, v in (result.get("coefficients") or {}).items() if isinstance(v, dict)}
    if not learned:
        return ""
    kept = [key for key in LEARNED if any(own.get(key) is not None for own in learned.values())]
    rows = [(name, *(_learned(own.get(key)) for key in kept)) for name, own in learned.items()]
    reason = (result.get("uncertainty") or {}).get("reason")
    return table(("coefficient", *(LEARNED[key] for key in kept)), rows) + (
        note(f"no confidence intervals: {reason}") if reason else ""
    )


def _learned(value: Any) -> Any:
    if isinstance(value, list):
        return Html(" to ".join(f"{number(_digits(end))}" for end in value))
    return _digits(value)


def _digits(value: Any) -> Any:
    """Eight digits: an interval may be narrow."""
    return f"{value:.8g}" if isinstance(value, float) else value


def terms(result: Mapping[str, Any]) -> str:
    """Return the mean square of every term, in training and at points of the judge's own."""
    found = result.get("terms") or {}
    if not found:
        return ""
    others = (result.get("independent") or {}).get("terms") or {}
    rows = [
        (name, value, *(others.get(name, {}).get(k) for k in ("mean_square", "ratio", "largest")))
        for name, value in found.items()
    ]
    return table(("term", "mean square", "at other points", "ratio", "largest |r|"), rows)


def settings(config: Mapping[str, Any]) -> str:
    """Return every setting, and the environment, each below a click."""
    own = {name: value for name, value in config.items() if name not in ADDED}
    made = config.get("environment")
    around = dict(made) if isinstance(made, Mapping) else {}
    versions = around.pop("versions", None)
    around |= versions if isinstance(versions, Mapping) else {}
    return folded("every setting", pairs(own)) + (
        folded("versions", pairs(around)) if around else ""
    )
