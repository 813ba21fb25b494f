"""The paper's sweeps of the activation scale in PINNs, and what comes out (appendix C.4).

Nine scales, two activations, the calibrated initialisation with p = 0.49 against the edge of chaos;
the paper does not say which sigma_b that has, so both 0 and 0.2 are run.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pinnsig.core.errors import SettingsError
from pinnsig.core.registry import unknown
from pinnsig.sweeps.comparing import SignTest, sign_tests
from pinnsig.sweeps.sweeping import sweep
from pinnsig.sweeps.table import SweepTable

PROBLEMS = {"black-scholes-scale": "black-scholes", "burgers-scale": "burgers"}
SCALES = (0.1, 0.3, 0.5, 0.8, 1.0, 1.3, 1.5, 1.8, 2.0)
ACTIVATIONS = ("tanh", "softsign2")
CALIBRATED = "calibrated:p=0.49"
EDGES_OF_CHAOS = ("eoc:sigma_b=0", "eoc:sigma_b=0.2")
FEWER = {"adam": 200, "lbfgs": 500, "collocation": 2000, "initial": 200, "boundary": 200}
"""What a CPU takes of the paper's iterations and points."""


@dataclass(frozen=True)
class Panel:
    """One activation against one edge of chaos.

    Attributes:
        below: scales at which the calibrated median over seeds is the lower one.
        scales: those at which both have a result.
        test: a sign test on all pairs of the same scale and seed, corrected for the panels.
    """

    activation: str
    against: str
    below: list[float]
    scales: list[float]
    test: SignTest

    def __str__(self) -> str:
        winner = self.test.winner
        judged = f"{winner} is lower" if winner else "no winner"
        return (
            f"{self.activation}: calibrated median below {self.against} at {len(self.below)} of "
            f"{len(self.scales)} scales; of {self.test.wins + self.test.losses} pairs "
            f"{self.test.wins} below, p = {self.test.adjusted:.2g}: {judged}"
        )


@dataclass(frozen=True)
class ScaleVerdict:
    """What a sweep says of the paper's claim, that the calibrated initialisation is lower."""

    problem: str
    seeds: int
    missing: int
    panels: list[Panel]

    def as_dict(self) -> dict[str, Any]:
        """By name."""
        return asdict(self)

    def __str__(self) -> str:
        runs = f", {self.missing} runs missing" if self.missing else ""
        head = f"{self.problem}, {self.seeds} seed{'s' if self.seeds != 1 else ''}{runs}"
        return "\n".join([head, *map(str, self.panels)])


def run_scale_sweep(
    name: str, preset: str = "quick", seeds: Sequence[int] = (0, 1, 2), **options: Any
) -> SweepTable:
    """Run one of the paper's two sweeps, or what is missing of it.

    Args:
        name: `burgers-scale` or `black-scholes-scale`.
        preset: `paper` is the paper's setting (Adam 600, L-BFGS 1000, its points); `quick` has
            fewer points and iterations, for a CPU.
        seeds: of weights and points.
        options: of `sweep`, and settings that are to differ.

    Raises:
        SettingsError: another name.
        PinnsigError: see `sweep`.
    """
    if preset not in ("paper", "quick"):
        raise SettingsError(f"preset = {preset!r} is neither paper nor quick")
    if name not in PROBLEMS:
        raise SettingsError(unknown("sweep", name, PROBLEMS))
    protocol: dict[str, Any] = {
        "act": list(ACTIVATIONS),
        "scale": list(SCALES),
        "init": [CALIBRATED, *EDGES_OF_CHAOS],
        "seed": list(seeds),
        "preset": "paper",
        **(FEWER if preset == "quick" else {}),
    }
    return sweep(PROBLEMS[name], **{**protocol, **options})


def scale_verdict(table: SweepTable) -> ScaleVerdict:
    """For each activation, at how many scales the calibrated median is below that of each EOC."""
    tests = [
        test
        for test in sign_tests(table, "init", per=["act"])
        if test.first == CALIBRATED and test.second in EDGES_OF_CHAOS
    ]
    panels = []
    for test in tests:
        rows = table.where(act=test.group["act"])
        medians = {
            init: {scale: part.spread("best_loss").median
                   for (scale,), part in rows.where(init=init).groups(["scale"]).items()
                   if part.spread("best_loss").count}
            for init in (test.first, test.second)
        }  # fmt: skip
        ours, theirs = medians.values()
        scales = [scale for scale in ours if scale in theirs]
        below = [scale for scale in scales if ours[scale] < theirs[scale]]
        panels.append(Panel(test.group["act"], test.second, below, scales, test))
    problem = Path(table[0]["problem"]).stem
    missing = len(table) - len(table.done)
    return ScaleVerdict(problem, len(table.values("seed")), missing, panels)
