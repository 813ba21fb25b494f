"""The points and data of a run: drawn once, kept with it, and read back by whoever needs them.

`points.safetensors` holds the first points of every term, measured values among them, and some
values of every condition. A run that goes on takes its points from there, and its conditions have
to give the same values as when it was started.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from pinnsig.core.errors import ProblemError
from pinnsig.model.fields import trace_partials
from pinnsig.objective import expressions
from pinnsig.problem import INTERIOR, Problem, Sites
from pinnsig.run.building import run_sites
from pinnsig.run.checkpoints import read_tensors, write_tensors
from pinnsig.run.directory import POINTS, RunDirectory
from pinnsig.run.settings import Settings
from pinnsig.sampling import pack_sites, unpack_sites

CHECKED = 64  # points of a condition, or those of one group where that has more
ALIKE = 1e-5  # relative difference of values that another machine's rounding may make

Values = dict[str, Tensor]


@dataclass(frozen=True)
class Drawn:
    """What is drawn for a run.

    Attributes:
        sites: the first points, by term.
        values: by condition, its residuals at some of its points for stand-ins of the fields, shape
            (M,), in float64.
    """

    sites: dict[str, Sites]
    values: Values

    @classmethod
    def of(cls, problem: Problem, sites: Mapping[str, Sites], device: str = "cpu") -> "Drawn":
        """Return points with the values of the conditions there.

        Raises:
            ProblemError: a condition has other values each time that it is made.
        """
        values = condition_values(problem, sites, device)
        for name in _differing(values, condition_values(problem, sites, device)):
            raise ProblemError(
                f"{type(problem).__name__}: the condition {name!r} has other values each time that "
                "conditions() is called: draw or read them once, in __init__ or outside the class "
                "(measured values of PointData are kept with the run)"
            )
        return cls(dict(sites), values)

    def check(self, problem: Problem, device: str = "cpu") -> None:
        """Refuse a problem whose conditions are not those of the start any more.

        Raises:
            ProblemError: a condition has other values now; names it.
        """
        for name in _differing(self.values, condition_values(problem, self.sites, device)):
            raise ProblemError(
                f"{type(problem).__name__}: the condition {name!r} has other values than when the "
                "run was started: its code, or a file that it reads, has changed"
            )

    def save(self, directory: RunDirectory) -> None:
        """Write it into a run directory."""
        write_tensors(directory, POINTS, {"sites": pack_sites(self.sites), "values": self.values})

    @classmethod
    def load(cls, directory: RunDirectory) -> "Drawn | None":
        """Read it back; None where a run has none.

        Raises:
            RunError: the file is damaged.
        """
        if not (directory.path / POINTS).is_file():
            return None
        found = read_tensors(directory, POINTS)
        return cls(unpack_sites(found["sites"]), found["values"])


def first_sites(directory: RunDirectory, settings: Settings, problem: Problem) -> dict[str, Sites]:
    """Return the points that a run began with: those it kept, else drawn again by its seed."""
    drawn = Drawn.load(directory)
    return run_sites(settings, problem) if drawn is None else drawn.sites


def condition_values(problem: Problem, sites: Mapping[str, Sites], device: str = "cpu") -> Values:
    """Return what the residuals of every condition are at some points, shape (M,), in float64.

    Fields and their partials are stand-ins, the same each time. Conditions are made anew, and
    evaluated where the run is.
    """
    dtype = torch.float32 if device.startswith("mps") else torch.float64
    like = torch.empty(0, dtype=dtype, device=device)
    found = {}
    for name, residual, stride in expressions(problem, problem.terms()):
        if name == INTERIOR or name not in sites:
            continue
        some = slice(0, max(CHECKED // stride, 1) * stride)
        points, extra = sites[name].tensors(problem.domain.names, like, some)
        _, values = trace_partials(
            problem,
            lambda fields, at, call=residual, columns=extra: call(fields, at, columns),
            points,
            what=f"condition {name!r}",
        )
        found[name] = torch.cat([v.cpu().double().flatten() for v in values.values()])
    return found


def _differing(before: Values, now: Values) -> list[str]:
    """Names of the conditions that came, went, or have other values."""
    names = dict.fromkeys([*before, *now])
    return [n for n in names if n not in before or n not in now or not _alike(before[n], now[n])]


def _alike(one: Tensor, two: Tensor) -> bool:
    if one.shape != two.shape:
        return False
    size = float(one[one.isfinite()].abs().max()) if bool(one.isfinite().any()) else 0.0
    return torch.allclose(one, two, rtol=ALIKE, atol=ALIKE * size, equal_nan=True)
