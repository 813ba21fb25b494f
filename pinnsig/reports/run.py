"""One run as a part of a page: what there is of it, and a line for what there is not."""

import contextlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pinnsig.core.errors import PinnsigError, ReportError, RunError, TrustError, one_line
from pinnsig.core.trust import Trust
from pinnsig.model import Model, SlabModel
from pinnsig.model.evaluation import compare_functions
from pinnsig.objective import Objective
from pinnsig.plots.style import PREDICTION, symbol
from pinnsig.problem import Problem, Sites
from pinnsig.reports import facts
from pinnsig.reports.charts import band
from pinnsig.reports.page import Page, escape, note, prose, section, tabs
from pinnsig.reports.repeating import commands, short_command
from pinnsig.reports.residuals import residual_map
from pinnsig.reports.solution import View, curves, explore, solution
from pinnsig.reports.start import start, start_health
from pinnsig.reports.training import training
from pinnsig.run.building import build
from pinnsig.run.directory import RunDirectory
from pinnsig.run.judging import noise_uncertainty
from pinnsig.run.loading import TrainedModel, load
from pinnsig.run.networks import Own
from pinnsig.run.planes import measurements
from pinnsig.run.points import first_sites
from pinnsig.run.state import RunState, run_state

FUNCTION = 3  # every so manieth point of an unknown function's map


@dataclass(frozen=True)
class Run:
    """A run that is to be reported of.

    Attributes:
        path: its directory.
        state: how it stands.
        config: its config.json.
        records: its log.
        trained: its model; None where it cannot be had, as `missing` says.
    """

    path: Path
    state: RunState
    config: dict[str, Any]
    records: list[dict[str, Any]] = field(default_factory=list)
    trained: TrainedModel | None = None
    missing: str = ""

    @property
    def result(self) -> Mapping[str, Any]:
        """What it gave, or the last that is known."""
        return self.state.result or self.state.last or {}

    @property
    def name(self) -> str:
        """What it is called on a page."""
        return f"{Path(str(self.config.get('problem'))).stem} · {self.path.name}"


def open_run(
    path: str | Path, trust: Trust, problem: type[Problem] | None, network: Own | None
) -> Run:
    """Read a run, finished or not.

    Raises:
        RunError: there is none, or none of a PDE.
        TrustError: it holds code that is not trusted.
    """
    directory = RunDirectory.open(path)
    if directory.is_classifier():
        raise RunError(
            f"{directory.path} is a run of classify, which has no fields to report of: "
            f"pinnsig plot {directory.path} draws it"
        )
    found = Run(directory.path, run_state(path), directory.read_json("config.json"))
    with contextlib.suppress(RunError):
        found = replace(found, records=list(directory.metrics()))
    try:
        return replace(found, trained=load(path, trust=trust, problem=problem, network=network))
    except TrustError:
        raise
    except PinnsigError as error:
        return replace(found, missing=one_line(error))


def run_report(page: Page, run: Run, network: Own | None = None) -> str:
    """Return all that can be shown of a run.

    Args:
        page: what its charts are added to.
        run: from `open_run`.
        network: the run's own, where it is not a registered one.
    """
    trained, result = run.trained, run.result
    parts: dict[str, Callable[[], str]] = {}
    true: dict[str, Any] = {}
    short = None
    about = ""
    if trained is not None:
        problem = trained.model.problem
        true = dict(problem.true_values())
        about = prose(inspect.getdoc(type(problem)) or "")
        if network is None:
            short = short_command(trained.settings, type(problem))
        parts = _of_model(page, trained, network)
    head = [
        f"<h1>{escape(Path(str(run.config.get('problem'))).stem)}</h1>",
        about,
        or_reason(lambda: facts.tiles(result)),
        or_reason(lambda: facts.doubts(run.state, result, trained.notices if trained else ())),
        note(f"no solution can be shown: {run.missing}") if run.missing else "",
        or_reason(lambda: facts.errors(result)),
        or_reason(lambda: facts.coefficients(result)),
        commands(run.path, run.config, short),
    ]
    parts["Training"] = lambda: training(page, run.records, result.get("phases") or (), true)
    parts["Terms of the loss"] = lambda: facts.terms(result)
    if "Start" in parts:
        parts["The network at its start"] = parts.pop("Start")
    body = [section(title, or_reason(make)) for title, make in parts.items()]
    return "".join([*head, *body, section("Settings and environment", facts.settings(run.config))])


def _of_model(
    page: Page, trained: TrainedModel, network: Own | None
) -> dict[str, Callable[[], str]]:
    """What needs the run's model, by title."""
    model = trained.model
    if isinstance(model, SlabModel):
        return {
            "Solution": lambda: solution(page, model),
            "Residual": lambda: note("the residual of a run over slabs of time is not drawn"),
        }
    begun = build(trained.settings, type(model.problem), network)

    @cache
    def sites() -> dict[str, Sites]:
        return first_sites(trained.directory, trained.settings, model.problem)

    def fields() -> str:
        measured = None
        with contextlib.suppress(PinnsigError):  # the residual's part says what is wrong with them
            measured = measurements(model.problem, sites())
        return solution(page, model, measured)

    parts = {"Solution": fields}
    if model.problem.functions():
        parts["Unknown functions"] = lambda: _functions(page, model, sites())
    parts["Residual"] = lambda: (
        '<p class="hint">over all equations, with the points that training began with</p>'
        + residual_map(page, model.double(), sites())
    )
    parts["Start"] = lambda: start(page, start_health(begun, sites()))
    return parts


def _functions(page: Page, model: Model, sites: Mapping[str, Sites]) -> str:
    """Every unknown function with its 95 % interval, where that can be told."""
    found = compare_functions(model)
    uncertainty = noise_uncertainty(Objective(model.double(), "auto", sites), profiles=False)
    drawn = {}
    for name, own in found.items():
        names = list(own.axes)
        if own.scattered or len(names) > 2:
            drawn[symbol(name)] = note("it has too many coordinates to be drawn")
        elif len(names) == 1:
            ends = uncertainty.bands.get(name)
            area = [] if ends is None else band(
                own.axes[names[0]], *ends, "95 % interval", PREDICTION["color"]
            )  # fmt: skip
            drawn[symbol(name)] = curves(page, own, band=area)
        else:
            cut = (slice(None, None, FUNCTION),) * 2
            axes = {key: values[::FUNCTION] for key, values in own.axes.items()}
            thin = replace(
                own, axes=axes, prediction=own.prediction[cut],
                reference=None if own.reference is None else own.reference[cut],
            )  # fmt: skip
            plane = (names[1], names[0]) if names[1] == model.problem.domain.time else tuple(names)
            drawn[symbol(name)] = explore(page, thin, View(axes, plane, None, {}))
    return tabs(drawn) + (note(uncertainty.reason) if uncertainty.reason else "")


def or_reason(make: Callable[[], str]) -> str:
    """A part, or why it cannot be had: a report is an extra, and the numbers may be anything."""
    try:
        with np.errstate(all="ignore"):
            return make()
    except ReportError as error:
        return note(str(error))
    except Exception as error:
        return note(f"cannot be shown: {one_line(error)}")
