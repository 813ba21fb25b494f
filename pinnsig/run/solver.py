"""`solve` and `resume`: one run, from settings to a run directory, and on from its checkpoint."""

import inspect
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pinnsig.core.errors import ProblemError, RunError, TrainingError
from pinnsig.core.gradients import own_gradients
from pinnsig.core.interrupts import Interruption
from pinnsig.core.ranks import Ranks
from pinnsig.core.trust import Trust
from pinnsig.optim import Make, drive
from pinnsig.problem import Problem, Slab, absolute, name_of, opened_by, problem_class
from pinnsig.run.building import build
from pinnsig.run.callbacks import Callback
from pinnsig.run.checkpoints import load_checkpoint
from pinnsig.run.directory import POINTS, RunDirectory
from pinnsig.run.environment import version_notices
from pinnsig.run.following import OwnParts
from pinnsig.run.networks import Own, is_drawn, own_network
from pinnsig.run.points import Drawn
from pinnsig.run.processes import begun_by, own_parts, refuse_slabs, together
from pinnsig.run.results import Result
from pinnsig.run.resuming import changed_settings
from pinnsig.run.running import Options, Run, Solving, listening
from pinnsig.run.settings import Settings, read_config, resolve
from pinnsig.run.settings.optimizers import named_functions, separate_functions
from pinnsig.run.slab_models import slab_settings
from pinnsig.run.slabs import Onwards, SlabRun, begin_slabs, check_changes, resume_slabs
from pinnsig.run.source import original_notices, problem_of, read_source
from pinnsig.training import Clock, Record, evaluate_alone

__all__ = ["Result", "Solving", "resume", "resuming", "solve", "solving"]

LOWER_RATES = (0.1, 1e-3, 1e-6)  # p of calibrated starts, where the usual one is absurd


@own_gradients()
def solve(
    problem: str | Path | type[Problem],
    *,
    runs: str | Path = "runs",
    path: str | Path | None = None,
    figures: bool = True,
    callbacks: Sequence[Callback] = (),
    keep_checkpoint: bool = False,
    clock: Clock = time.perf_counter,
    devices: int = 1,
    **given: Any,
) -> Result:
    """Train a network on a problem and leave a run directory.

    Args:
        problem: a registered name, a file (`my_pde.py`, `my_pde.py:Heat`), or a Problem class.
        runs: where run directories go.
        path: the run directory itself, new or empty, in place of one under `runs`.
        figures: whether to draw them.
        callbacks: what sees the run (`pinnsig.run.callbacks.Callback`).
        keep_checkpoint: whether a finished run keeps all of a checkpoint above 32 MB, so that a
            resume for longer goes on exactly; else what the optimiser remembers is dropped.
        clock: gives seconds; limits on time and the times that are told go by it.
        devices: processes to start on this machine, which share the points: one for each GPU, or
            with equal parts of the threads. A script that torchrun has started in several
            processes has them already.
        given: settings by name (`pinnsig.run.settings.Settings`). `network` may be an `nn.Module`,
            whose weights the run starts from, or a callable that makes one: of `inputs` and
            `outputs`, and of those of `depth`, `width`, `activation`, `dtype`, `device` and
            `generator` that it takes. An optimiser, that of `optimizer` or of a phase, may be a
            class with PyTorch's interface, or a function that makes one from a list of parameters.

    Raises:
        PinnsigError: a setting, the problem or the device cannot be used; nothing is left behind.
        TrainingError: training failed on its way, by the problem's code, a callback, or for want of
            memory; `error.path` has the best weights, the last checkpoint and a result.
    """
    own = own_parts(problem, given.get("network"))

    def work(ranks: Ranks) -> Result:
        options = Options(figures, callbacks, keep_checkpoint, clock, ranks=ranks, given=own)
        if ranks.again and (begun := begun_by(ranks.launch, path)) is not None:
            return drive(resuming(begun, options=options, trust=True), evaluate_alone)
        run = solving(problem, runs=runs, path=path, options=options, **given)
        return drive(run, evaluate_alone)

    return _with_own(together(devices, work, own), own)


def solving(
    problem: str | Path | type[Problem],
    *,
    runs: str | Path = "runs",
    path: str | Path | None = None,
    options: Options = Options(),  # noqa: B008, it is frozen
    interruption: Interruption | None = None,
    code: Mapping[str, str] | None = None,
    **given: Any,
) -> Solving:
    """`solve` as a generator that asks for each loss and gradient.

    Args:
        options: what it does besides its settings.
        interruption: by which it is asked to save and end, in place of signals.
        code: the digests that a problem file and its neighbours must have, by name.
        problem, runs, path, given: see `solve`.
    """
    problem_type = problem if inspect.isclass(problem) and issubclass(problem, Problem) else None
    if problem_type is None and not isinstance(problem, str | Path):
        raise ProblemError(f"{problem!r} is no problem: give its name, its file or its class")
    given, network = own_network(given)
    given, optimizers = separate_functions(given)
    settings = resolve(
        {**given, "problem": name_of(problem_type) if problem_type else absolute(str(problem))}
    )
    if problem_type is None:
        problem_type = problem_class(settings.problem, code)
    if settings.slabs != 1:
        refuse_slabs(options.ranks)
        plan = SlabRun.of(settings, problem_type, options, network, optimizers)
        onwards = Onwards(options.callbacks)
        own = slab_settings(plan.settings, 0)
        began = _started(
            own, problem_type, plan.slab_options(onwards), network, optimizers, plan.slab(0)
        )
        with listening(options, interruption) as heard:
            return (yield from begin_slabs(plan, began, onwards, runs, path, heard))
    run, first = _started(settings, problem_type, options, network, optimizers)
    with listening(options, interruption) as heard:
        return (yield from run.begin(runs, path, heard, first))


@own_gradients()
def resume(
    run: str | Path,
    *,
    problem: type[Problem] | None = None,
    network: Own | str | None = None,
    figures: bool = True,
    callbacks: Sequence[Callback] = (),
    keep_checkpoint: bool = False,
    clock: Clock = time.perf_counter,
    devices: int = 1,
    trust: Trust = False,
    optimizers: Make | Sequence[Make] = (),
    **changes: Any,
) -> Result:
    """Go on with a run from its checkpoint, as if it had never been interrupted.

    On a CPU, with as many threads as before, the weights come out the same bit for bit, but for a
    run that had come to its end with a checkpoint above 32 MB (see `solve`, keep_checkpoint). Its
    points and data are those of the run. The result of a run that is made longer is withdrawn when
    its training goes on.

    Args:
        run: the run directory, wherever it is now.
        problem: the problem's class, where the run was started from Python with a class.
        network: the run's own network, or what makes it, where it is not a registered one.
        figures, callbacks, keep_checkpoint, clock, devices: see `solve`.
        trust: whether code that came with the run may be run; this is remembered.
        optimizers: the functions that made the run's optimisers, in the order of its phases.
        changes: settings that may change: more iterations (`adam`, `lbfgs`), `phases` to add,
            limits, device, how often to log and save.

    Raises:
        RunError: no run there, no checkpoint that can be used, or nothing left to do.
        SettingsError: a change that cannot be made; nothing is changed then.
        TrustError: the run holds code that is not trusted.
        PinnsigError: the problem or the device cannot be had, or a condition has other values than
            when the run was started.
        TrainingError: see `solve`.
    """
    own = own_parts(problem, network)

    def work(ranks: Ranks) -> Result:
        options = Options(figures, callbacks, keep_checkpoint, clock, ranks=ranks, given=own)
        made = resuming(
            run,
            problem=problem,
            network=network,
            options=options,
            trust=trust,
            optimizers=optimizers,
            **changes,
        )
        return drive(made, evaluate_alone)

    return _with_own(together(devices, work, own), own)


def resuming(
    run: str | Path,
    *,
    problem: type[Problem] | None = None,
    network: Own | str | None = None,
    options: Options = Options(),  # noqa: B008, it is frozen
    interruption: Interruption | None = None,
    trust: Trust = False,
    optimizers: Make | Sequence[Make] = (),
    **changes: Any,
) -> Solving:
    """`resume` as a generator that asks for each loss and gradient; see `solving`."""
    if isinstance(network, str):
        changes["network"], network = network, None
    directory = RunDirectory.open(run)
    with directory.locked():
        if directory.is_classifier():
            raise RunError(
                f"{directory.path} is a run of classify: pinnsig.classify.resume_classifier goes on"
            )
        saved = read_config(directory.path / "config.json")
        if saved.get("slabs", 1) != 1:
            refuse_slabs(options.ranks)
            check_changes(changes)
            settings = resolve(changed_settings(saved, changes, ()))
            own = problem_of(directory, settings.problem, trust, problem)
            makers = named_functions(optimizers)
            plan = SlabRun.of(settings, own.problem_type, options, network, makers)
            told = (*own.notices, *version_notices(directory))
            with listening(options, interruption) as heard:
                return (yield from resume_slabs(plan, directory, heard, told))
        state, notice = load_checkpoint(directory)
        known = named_functions(optimizers)
        changes, added = separate_functions(changes, known)
        settings = resolve(changed_settings(saved, changes, state["trainer"]["reports"]))
        own = problem_of(directory, settings.problem, trust, problem)
        parts = build(settings, own.problem_type, network)
        drawn = Drawn.load(directory)
        if drawn is not None:
            drawn.check(parts.problem, settings.device)
        going = Run(parts, options, drawn, added)
        source = read_source(directory)
        if source is not None:
            going.source = source.as_dict()
        going.notices += [notice] if notice else []
        going.notices += [*own.notices, *original_notices(source, settings.problem)]
        going.notices += version_notices(directory)
        if drawn is None:
            going.notices.append(f"{directory.path} has no {POINTS}: its points are drawn again")
        with listening(options, interruption) as heard:
            return (yield from going.go_on(directory, state, heard))


def _with_own(result: Result, own: OwnParts) -> Result:
    """The result with what its model cannot be loaded without, where that is no name."""
    given = {"problem": own.problem, "network": own.network}
    return replace(result, own={name: part for name, part in given.items() if part is not None})


def _started(
    settings: Settings,
    problem_type: type[Problem],
    options: Options,
    network: Own | None,
    optimizers: Mapping[str, Make],
    slab: Slab | None = None,
) -> tuple[Run, Record]:
    """A run whose start is worth training, with the record of it.

    A calibrated start that is absurd is drawn with less noise, where the user did not say how much
    and the protocol is not the paper's.

    Raises:
        TrainingError: the start is absurd or not finite; says what to try.
    """
    free = settings.p is None and settings.init == "calibrated" and settings.preset != "paper"
    faults: list[TrainingError] = []
    opened = opened_by(problem_type)
    for p in (None, *(LOWER_RATES if free else ())):
        with opened.watching():
            parts = build(replace(settings, p=p or settings.p), problem_type, network, slab)
            run = Run(parts, options, optimizers=optimizers)
        run.opened = opened
        try:
            with opened.watching():
                first = run.start()
        except TrainingError as fault:
            faults.append(fault)
            if not is_drawn(run.parts.model.network):
                break
            continue
        if faults:
            run.notices.append(f"{faults[0]}; p = {p} is taken, whose start has {first.loss:.2e}")
        return run, first
    raise faults[0]
