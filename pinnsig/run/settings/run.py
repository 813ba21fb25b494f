"""Every setting of a run: its name, type, range, help and default.

The same names serve the command line (`--scale 1.3`), configuration files (`scale = 1.3`),
`config.json` and Python (`solve("burgers", scale=1.3)`).
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pinnsig.core.devices import DTYPES
from pinnsig.core.errors import SettingsError
from pinnsig.networks import NETWORKS
from pinnsig.run.settings.checks import (
    check_fields,
    entry,
    integer,
    negative_rate,
    network,
    number,
    scaling,
    setting,
    slabs,
    table,
    weights,
    word,
    yes_or_no,
)  # fmt: skip
from pinnsig.run.settings.optimizers import optimizer_name
from pinnsig.run.settings.phases import PhaseSettings, parse_phase, phases
from pinnsig.training.weighting import WEIGHTINGS

COUNTS = ("adam", "lbfgs", "broyden", "lm")
"""Settings that give numbers of iterations, in the order of their phases."""

POLISHING = {"broyden": ("ssbroyden", 300), "lm": ("lm", 20)}
"""Counts whose phases are left out at 0: the optimiser, and iterations from one draw of collocation
points to the next."""


def hidden_weights(depth: int, width: int) -> int:
    """Return about how many weights a network has, from its hidden layers."""
    return depth * width**2


@dataclass(frozen=True, kw_only=True)
class GivenSettings:
    """All settings of one run as they are given; None means that a preset or a rule decides."""

    problem: str | None = setting(word(), "a registered problem, or a file such as my_pde.py")
    act: str = setting(word(), "activation: a name or an expression", "tanh", "EXPR")
    scale: float = setting(number(above=0.0), "activation scale a in a f(x)", 1.0)
    init: str = setting(
        word(), "initialiser: calibrated, eoc, eoc:sigma_b=0, xavier, he, orthogonal", "calibrated"
    )
    p: float | str | None = setting(
        negative_rate,
        "calibrated: target negative rate, or auto for p(L)  [auto; paper: 0.49]",
        metavar="P",
    )
    sigma_b: float | None = setting(
        number(minimum=0.0), "standard deviation of the biases  [eoc: 0.2, others: 0]"
    )
    network: str = setting(
        network, f"{', '.join(NETWORKS)}, with parameters as in resnet:block=3", "ffnn"
    )
    depth: int = setting(integer(1), "hidden layers  [preset]", 50)
    width: int = setting(integer(1), "units in each hidden layer  [preset]", 64)
    normalize: bool | None = setting(
        yes_or_no,
        "inputs scaled to [-1, 1], where the problem has no features of its own  [where the domain "
        "is far from order one; accurate: yes; paper: no]",
    )
    scaling: str | dict[str, Any] = setting(
        scaling,
        "sizes of outputs and terms: auto, found where they are far from order one, as in SI units;"
        " none; or a table of them, here as JSON (see Units in docs)  [auto; paper: none]",
        "auto",
        "WORD",
    )
    slabs: int | list[float] = setting(
        slabs,
        "time cut into so many slabs of one length, or at times such as 0.1,0.5,2, each trained "
        "from the end of the one before it; they share iterations and --max-seconds",
        1,
        "N",
    )
    hard: str = setting(
        word("no", "yes", "auto"),
        "conditions met exactly by the problem's own ansatz for them; auto: where it has one",
        "no",
    )
    optimizer: str = setting(
        optimizer_name,
        "the first phase's optimiser: adam, adamw, radam, muon, or PyTorch's: torch.NAdam",
        "adam",
        "NAME",
    )
    adam: int | None = setting(integer(0), "Adam iterations, or those of --optimizer  [preset]")
    lbfgs: int | None = setting(integer(0), "L-BFGS iterations, after Adam  [preset]")
    broyden: int | None = setting(
        integer(0),
        "self-scaled Broyden iterations, after L-BFGS, with points redrawn where the residual is "
        "large  [preset; 0 where adam and lbfgs are given]",
    )
    lm: int | None = setting(
        integer(0),
        "Levenberg-Marquardt iterations, after Broyden's, with points redrawn likewise  [preset; 0 "
        "where adam and lbfgs are given]",
    )
    lr: float | None = setting(number(above=0.0), "Adam's learning rate  [1e-4 omega; else 1e-3]")
    phases: list[dict[str, Any]] = setting(
        phases,
        "in place of these, as often as there are phases: adam:600,lr=1e-3 "
        "lbfgs:1000,dtype=float64 (see Training in docs)",
        [],
        "PHASE",
    )
    collocation: int | None = setting(integer(1), "collocation points  [preset]")
    initial: int | None = setting(integer(0), "initial points  [preset]")
    boundary: int | None = setting(integer(0), "boundary points in all, over all faces  [preset]")
    sampler: str = setting(word(), "lhs, uniform, sobol, halton or grid", "lhs")
    set: dict[str, Any] = setting(table, "a coefficient of the problem", {}, "NAME=VALUE")
    weight: dict[str, float] = setting(
        weights,
        "the weight of a loss term, or of all initial, boundary, data or residual ones",
        {},
        "TERM=VALUE",
    )
    seed: int = setting(integer(0), "seed of weights and points", 0)
    dtype: str = setting(word(*DTYPES), "float32 or float64  [preset]", "float32")
    device: str = setting(word(), "auto, cpu, cuda, cuda:1 or mps", "auto")
    engine: str = setting(word(), "derivative engine: auto, fused, jets or nested", "auto")
    deterministic: bool = setting(
        yes_or_no, "gradients the same bit for bit every time, on a GPU too", False
    )
    preset: str | None = setting(
        word("quick", "accurate", "paper"),
        "quick: right in a minute; accurate: as far as --max-seconds goes; paper: the paper's  "
        "[quick]",
    )
    weighting: str = setting(
        entry(WEIGHTINGS, "none"),
        "loss weights found: none, start-trace (once), gradient-norm, ntk-trace or attention  "
        "[start-trace; paper: none]", "none",
    )  # fmt: skip
    causal: bool = setting(
        yes_or_no,
        "later times trained only once earlier ones are (Wang, Sankaran and Perdikaris 2022), "
        "beside --weighting",
        False,
    )
    weighting_every: int = setting(integer(1), "find them anew every so many iterations", 100, "N")
    stop_loss: float | None = setting(number(above=0.0), "stop once the loss is as low")
    stop_error: float | None = setting(
        number(above=0.0), "stop once the relative L2 error is as low"
    )
    max_seconds: float | None = setting(
        number(above=0.0), "stop training after so many seconds  [accurate: 300]"
    )
    log_every: int = setting(integer(1), "log every so many iterations", 1, "N")
    error_every: int = setting(
        integer(0),
        "log the relative L2 error every so many iterations  [only to stop by it]",
        0,
        "N",
    )
    checkpoint_every: int = setting(
        integer(0),
        "save all that resume needs every so many iterations; 0: at ends only  [preset]",
        100,
        "N",
    )

    def as_dict(self) -> dict[str, Any]:
        """Return every setting by name."""
        return dataclasses.asdict(self)


@dataclass(frozen=True, kw_only=True)
class Settings(GivenSettings):
    """All settings of one run, after `resolve`: nothing is left for a preset to decide.

    The device is one that is there. The counts are None where there are phases, `p` and `sigma_b`
    where the initialiser has its own.
    """

    problem: str = field()
    lr: float = field()
    collocation: int = field()
    initial: int = field()
    boundary: int = field()
    preset: str = field()

    def phase_list(self) -> list[PhaseSettings]:
        """Return the phases: as given, or those of the counts."""
        return [parse_phase(phase) for phase in self.phases or self.counted().values()]

    def counted(self) -> dict[str, str]:
        """Return the phases that the counts ask for, as texts, by count."""
        found = {"adam": f"{self.optimizer}:{self.adam}", "lbfgs": f"lbfgs:{self.lbfgs}"}
        for name, (optimizer, every) in POLISHING.items():
            if getattr(self, name):
                found[name] = f"{optimizer}:{getattr(self, name)},points=rad,every={every}"
        return found


def check_settings(given: Mapping[str, Any], source: str = "") -> dict[str, Any]:
    """Check names and values; None means not given.

    Raises:
        SettingsError: an unknown name, or a value of the wrong type or out of range.
    """
    try:
        return check_fields(GivenSettings, given)
    except SettingsError as error:
        raise SettingsError(f"{source}: {error}" if source else str(error)) from None
