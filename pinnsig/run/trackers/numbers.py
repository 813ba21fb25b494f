"""What trackers are told, by name."""

from collections.abc import Mapping
from typing import Any

from pinnsig.run.results import SUMMARY
from pinnsig.training import Record


def numbers_of(record: Record) -> dict[str, float]:
    """All numbers of an iteration that there are."""
    numbers: dict[str, float | None] = {
        "loss": record.loss,
        "best loss": record.best_loss,
        "learning rate": record.learning_rate,
        "relative L2 error": record.relative_l2,
        **{f"terms/{name}": value for name, value in record.terms.items()},
        **{f"coefficients/{name}": c for name, c in (record.coefficients or {}).items()},
        **{f"weights/{name}": value for name, value in (record.weights or {}).items()},
    }
    return {name: value for name, value in numbers.items() if value is not None}


def summary_of(result: Mapping[str, Any]) -> dict[str, Any]:
    """What a run's result says in a line each, learned coefficients among it."""
    found = {name: result[name] for name in SUMMARY if result.get(name) is not None}
    for name, learned in (result.get("coefficients") or {}).items():
        if isinstance(learned, Mapping) and learned.get("value") is not None:
            found[f"coefficients/{name}"] = learned["value"]
    return found
