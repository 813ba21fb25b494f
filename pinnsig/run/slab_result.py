"""One result of a run over slabs, from those of the slabs and the solution over the whole time."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pinnsig.core.errors import one_line
from pinnsig.model import SlabModel
from pinnsig.model.evaluation import Comparison, compare, max_error, relative_l2
from pinnsig.run.building import RunComponents
from pinnsig.run.directory import RunDirectory
from pinnsig.run.figures import draw_figures
from pinnsig.run.results import Result, errors

KEPT = ("best_loss", "last_loss", "relative_l2", "max_error", "estimated_error", "iterations",
        "seconds", "stop")  # fmt: skip
SUMMED = ("iterations", "evaluations", "seconds", "parameters")
MEANS = ("best_loss", "last_loss", "zero_loss", "constant_loss")


def joint_result(
    directory: RunDirectory,
    whole: RunComponents,
    results: Sequence[Mapping[str, Any]],
    ends: Sequence[float],
    model: SlabModel | None,
    figures: bool,
    tell: Callable[[str], None],
) -> Result:
    """Write the result of a run over slabs, and its figures.

    Losses and mean squares are means over time, errors those over the whole domain. Errors by the
    residuals are told by each slab of itself alone: what comes from the slabs before is added, as
    if errors neither grew nor faded.

    Args:
        directory: the run.
        whole: the problem over all of its time.
        results: of the slabs that were trained, in order.
        ends: of all slabs.
        model: of all slabs; None where some are missing.
        figures: whether to draw them.
        tell: told of figures that cannot be drawn.
    """
    comparisons: dict[str, Comparison] = {}
    failures = []
    if model is not None:
        try:
            with np.errstate(all="ignore"):
                comparisons = compare(model)
        except Exception as error:  # the problem's own code, memory: training is done
            failures.append(f"the solution on a grid could not be had: {one_line(error)}")
    time, lengths = whole.problem.domain.time, np.diff(ends)[: len(results)]
    shares = lengths / lengths.sum()
    slabs = [
        {"slab": i + 1, "from": ends[i], "to": ends[i + 1], **{k: own[k] for k in KEPT},
         "joint": own["terms"].get("initial") if i else None}
        for i, own in enumerate(results)
    ]  # fmt: skip
    estimated = _estimated(results, shares)
    data: dict[str, Any] = {
        "run": str(directory.path),
        **results[0],
        **{name: sum(own[name] for own in results) for name in SUMMED},
        **{name: _mean([own[name] for own in results], shares) for name in MEANS},
        "terms": {
            name: _mean([own["terms"].get(name) for own in results], shares)
            for name in dict.fromkeys(n for own in results for n in own["terms"])
        },
        "relative_l2": relative_l2(comparisons),
        "max_error": max_error(comparisons),
        "estimated_error": estimated,
        "errors": errors(comparisons, {}, None),
        "independent": None,
        "suspicious": [
            *(
                f"slab {i + 1}: {line}"
                for i, own in enumerate(results)
                for line in own["suspicious"]
            ),
            *failures,
        ],
        "stop": results[-1]["stop"],
        "phases": [
            {**phase, "slab": i + 1} for i, own in enumerate(results) for phase in own["phases"]
        ],
        "resumed": max(own["resumed"] for own in results),
        "time": time,
        "slabs": slabs,
    }
    data["errors"]["all"]["estimated"] = estimated
    data["run"] = str(directory.path)
    directory.write_json("result.json", data)
    if figures and comparisons:
        with np.errstate(all="ignore"):
            draw_figures(directory, comparisons, tell=tell, model=model)
    return Result(directory.path, data)


def _mean(values: Sequence[float | None], shares: np.ndarray) -> float | None:
    known = [(v, s) for v, s in zip(values, shares, strict=True) if v is not None]
    return sum(v * s for v, s in known) / sum(s for _, s in known) if known else None


def _estimated(results: Sequence[Mapping[str, Any]], shares: np.ndarray) -> float | None:
    """The root mean square over time of each slab's error with those of the slabs before it."""
    own = [result["estimated_error"] for result in results]
    if any(error is None for error in own):
        return None
    carried = np.cumsum(own)
    return float(math.sqrt(float(np.sum(shares * carried**2))))
