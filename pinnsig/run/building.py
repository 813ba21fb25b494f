"""From settings to the objects of a run: problem, activation, initialiser, model."""

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from pinnsig.activations import Activation, build_activation
from pinnsig.calibration import (
    default_learning_rate,
    learning_rate_band,
)
from pinnsig.core.errors import ProblemError, SettingsError
from pinnsig.core.memory import in_words
from pinnsig.core.ranks import Ranks
from pinnsig.core.registry import suggestion
from pinnsig.initializers import Initializer, initializer_from
from pinnsig.model import Model
from pinnsig.model.fields import function_coordinates, guarded, input_count
from pinnsig.networks import Network
from pinnsig.objective import Objective, check_learned
from pinnsig.objective.distributed import DealtObjective
from pinnsig.problem import Joint, Problem, Sites, Slab, problem_class, restricted
from pinnsig.run.networks import (
    Own,
    add_functions,
    is_drawn,
    make_network,
    network_notices,
    signal_depth,
)
from pinnsig.run.scaling import Scaling, far_from_order_one, find_scaling
from pinnsig.run.settings import (
    COUNTS,
    PRESETS,
    GivenSettings,
    Settings,
    hidden_weights,
    suited_counts,
)
from pinnsig.sampling import Counts, draw_sites

HARD_CHECKS = 64  # points of a group
HARD_TOLERANCE = 1e-16
FEWEST_STEPS, FINE_STEPS = 1e3, 1e5  # positions on an interval: refused below, told below


@dataclass(frozen=True)
class RunComponents:
    """What settings stand for.

    Attributes:
        settings: with the initialiser's parameters and the coefficients filled in.
        notices: what a user should know before training, a line each.
    """

    settings: Settings
    problem: Problem
    activation: Activation
    initializer: Initializer
    model: Model
    notices: tuple[str, ...]

    @property
    def weights(self) -> str:
        """Where the first weights come from: the initialiser's text, or the network itself."""
        return self.initializer.spec if is_drawn(self.model.network) else "the network's own"

    @property
    def signal_depth(self) -> int:
        """The depth that the network is initialised for."""
        return signal_depth(self.model.network, self.settings.depth)


def build(
    settings: Settings,
    problem: type[Problem] | None = None,
    network: Own | None = None,
    slab: Slab | None = None,
) -> RunComponents:
    """Make everything but points and optimisers; nothing is written or trained.

    Args:
        settings: resolved settings.
        problem: the problem's class, if it is at hand; else it is looked up by its name.
        network: the user's own, where it is not a registered one.
        slab: the part of time that the problem is restricted to.

    Raises:
        PinnsigError: any setting that cannot be used, in one line.
    """
    problem_type = problem or problem_class(settings.problem)
    try:
        made = problem_type(**settings.set)
    except TypeError as error:  # its own __init__ does not take coefficients
        raise ProblemError(f"{problem_type.__name__} cannot be made: {error}") from error
    made.hard = _is_hard(settings.hard, made)
    made = made if slab is None else restricted(made, slab)
    scaling = _scale(settings, made)
    activation = build_activation(settings.act, settings.scale)
    notices = [*_resolution_notices(settings, made), *_condition_notices(made)]
    notices += scaling.notices
    initializer = build_initializer(settings)
    inputs = input_count(made) - len(function_coordinates(made))
    outputs = len(made.outputs) - len(made.functions())
    module = make_network(settings, inputs, outputs, activation, initializer, network)
    if isinstance(module, Network):
        activation = module.activation
    notices += network_notices(module, inputs)
    module = add_functions(module, made, settings, activation, initializer)
    settings = replace(
        settings,
        init=initializer.spec,
        set=made.values(),
        normalize=made.scaled_inputs,
        scaling=scaling.as_setting(),
    )
    notices += [*learning_rate_notices(settings.lr, activation), *_dense_notices(settings)]
    model = Model(made, module)
    return RunComponents(settings, made, activation, initializer, model, tuple(notices))


def _scale(settings: Settings, problem: Problem) -> Scaling:
    """Scale a problem's inputs and outputs as settings say, or as its sizes ask for."""
    problem.scaled_inputs = (
        far_from_order_one(problem.domain) if settings.normalize is None else settings.normalize
    )
    scaling = Scaling.of(settings.scaling)
    if settings.scaling == "auto":
        scaling = find_scaling(problem, settings.seed)
        if settings.normalize is None and scaling.terms and not problem.scaled_inputs:
            problem.scaled_inputs = True  # a length of 10 is one of many units, too
            scaling = find_scaling(problem, settings.seed)
    for name in set(scaling.outputs) - set(problem.outputs):
        raise SettingsError(
            f"scaling of {name}: the network's outputs are {', '.join(problem.outputs)}"
        )
    problem.output_scales = scaling.outputs
    return scaling


def _resolution_notices(settings: Settings, problem: Problem) -> Iterator[str]:
    """A line where numbers are coarse beside an interval, as far from the origin.

    Raises:
        ProblemError: they are so coarse that points fall together.
    """
    domain = problem.domain
    used = {settings.dtype, *(phase.dtype for phase in settings.phase_list() if phase.dtype)}
    for dtype in sorted(used):
        for name, steps in domain.steps(np.dtype(dtype)).items():
            if steps >= FINE_STEPS:
                continue
            low, high = domain.interval(name)
            cures = [f"let {name} begin at 0, as {name} - {low:g}"]
            if dtype == "float32" and domain.steps(np.dtype("float64"))[name] >= FINE_STEPS:
                cures.insert(0, "take --dtype float64")
            line = (
                f"{name} from {low:.12g} to {high:.12g} has {steps:.3g} different positions in "
                f"{dtype}: {', or '.join(cures)}"
            )
            if steps < FEWEST_STEPS:
                raise ProblemError(f"{type(problem).__name__}: {line}")
            yield line


def _condition_notices(problem: Problem) -> list[str]:
    """What conditions have to say, and points of the problem's own."""
    conditions = guarded(problem, "conditions", problem.terms).values()
    found = [condition.notice(problem.domain) for condition in conditions]
    if problem.collocation_points is not None:
        found.append(
            "the collocation points are the problem's own, and stay where they are: neither their "
            "number nor how points are drawn or redrawn is asked of the settings"
        )
    return [line for line in found if line is not None]


def _dense_notices(settings: Settings) -> tuple[str, ...]:
    """A line where a preset would polish with a matrix that is too large for the network."""
    usual, weights = PRESETS[settings.preset], hidden_weights(settings.depth, settings.width)
    suited = suited_counts(usual, weights)
    left_out = [n for n in COUNTS if usual[n] and not suited[n]]
    if not left_out or any(getattr(settings, n) != suited[n] for n in COUNTS):
        return ()
    if "broyden" not in left_out:
        return (
            f"a step of Levenberg-Marquardt is slow with some {weights:,} weights: self-scaled "
            "Broyden in its place, which goes less far; a smaller network, or --lm N, goes on",
        )
    return (
        f"the matrix of self-scaled Broyden would take {in_words(4 * weights**2)} for some "
        f"{weights:,} weights: L-BFGS in its place, which goes less far; a smaller network, or "
        "--phase lm:100 where J fits, goes on",
    )


def _is_hard(wanted: str, problem: Problem) -> bool:
    """Whether conditions are met by the problem's own ansatz for them.

    Raises:
        SettingsError: they are to be, and it has none.
    """
    if wanted == "yes" and not problem.has("hard_ansatz"):
        raise SettingsError(
            f"hard = yes: {type(problem).__name__} has no hard_ansatz(self, n, ...) that meets its "
            "conditions; leave hard out, or write one"
        )
    return wanted != "no" and problem.has("hard_ansatz")


def _check_hard(parts: RunComponents) -> None:
    """Refuse an ansatz that does not meet the conditions which it takes the place of.

    Raises:
        ProblemError: one of them is missed.
    """
    problem = parts.problem
    # the same fields, with the conditions as terms of a loss
    own: dict[str, Any] = {"tries_hard": True}
    if problem.hard:
        own = {"hard": False, "ansatz": problem.hard_ansatz}  # type: ignore[attr-defined]
    soft = problem.bound(own)
    maker = "hard_ansatz" if problem.hard else "hard=True"
    model = copy.deepcopy(parts.model).double()
    model.problem = soft
    sites = draw_sites(soft, Counts(2, HARD_CHECKS, HARD_CHECKS), "lhs", parts.settings.seed)
    objective = Objective(model, "auto", sites)
    missed = objective.losses().terms.tolist()
    conditions = soft.terms()
    for name, term in zip(objective.term_names, missed, strict=True):
        condition = conditions.get(name)
        meets = condition is not None and condition.group in ("initial", "boundary")
        if condition is None or not meets or isinstance(condition, Joint):
            continue
        if (problem.hard or condition.hard) and not term <= HARD_TOLERANCE:
            raise ProblemError(
                f"{type(problem).__name__}.{maker} misses the condition {name!r}: its mean "
                f"square is {term:.2g} at the initialised network, and must be 0"
            )


def run_sites(settings: Settings, problem: Problem, number: int = 0) -> dict[str, Sites]:
    """The points of every term of a run, by term; always the same for the same settings.

    Args:
        settings: counts, sampler and seed.
        problem: whose terms.
        number: which draw; 0 gives the points that training starts with.
    """
    counts = Counts(settings.collocation, settings.initial, settings.boundary)
    return draw_sites(problem, counts, settings.sampler, settings.seed, number)


def build_objective(
    parts: RunComponents,
    engine: str | None = None,
    sites: Mapping[str, Sites] | None = None,
    ranks: Ranks | None = None,
) -> Objective:
    """The loss at the points that the settings ask for.

    Args:
        parts: what `build` made.
        engine: another engine than the settings name.
        sites: the points, where they are drawn already.
        ranks: the processes that share them.

    Raises:
        PinnsigError: the problem's code fails, or points, weights or engine cannot be used.
    """
    settings = parts.settings
    if parts.problem.hard or parts.problem.hard_names:
        _check_hard(parts)
    make = Objective if ranks is None or ranks.size == 1 else partial(DealtObjective, ranks)
    objective = make(
        parts.model,
        engine or settings.engine,
        run_sites(settings, parts.problem) if sites is None else sites,
        settings.weight,
        settings.deterministic,
        sizes=Scaling.of(settings.scaling).terms,
    )
    for name in objective.sizes:
        if name not in objective.term_names:
            known = suggestion(name, objective.term_names)
            raise SettingsError(f"scaling of {name}: there is no such term: {known}")
    if not any(objective.given_weights):
        raise SettingsError("every term has weight 0: there is nothing to train on")
    check_learned(objective)
    return objective


def learning_rate_notices(rate: float, activation: Activation) -> tuple[str, ...]:
    """A line where a learning rate lies outside the paper's band [1e-5, 1e-3] omega."""
    if not activation.odd_sigmoid:
        return ()
    omega = activation.omega
    low, high = learning_rate_band(omega)
    # rounding must not put the ends of the band outside it
    if low * (1 - 1e-9) <= rate <= high * (1 + 1e-9):
        return ()
    return (
        f"learning rate {rate:g} is outside the band [{low:.3g}, {high:.3g}] that suits "
        f"omega = {omega:.6g}; 1e-4 omega = {default_learning_rate(omega):.3g} is the default",
    )


def build_initializer(settings: GivenSettings) -> Initializer:
    """Return the initialiser that the settings name, with --p and --sigma-b where they are given.

    A calibrated one without p has the rule p(L), but for the paper's preset, which has p = 0.49.
    """
    rule = settings.preset not in (None, "paper")
    return initializer_from(settings.init, settings.p, settings.sigma_b, rule)
