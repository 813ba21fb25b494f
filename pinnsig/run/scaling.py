"""Natural sizes of a problem that is far from order one, as in SI units: what is divided by what.

A network and its optimisers expect inputs, outputs and residuals of order one. Where the domain,
the values that are prescribed or the equations' coefficients say that they are not, the sizes of
the outputs come from a quick solution by random features (Chen, Chi, E and Yang, J. Mach. Learn. 1
(2022) 268), and the sizes of the terms from what the equations make of functions as large.
"""

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pinnsig.core.errors import one_line
from pinnsig.geometry import Domain
from pinnsig.model import Model
from pinnsig.model.fields import network_inputs
from pinnsig.networks import FFNN
from pinnsig.networks.random_features import random_features
from pinnsig.objective import Objective
from pinnsig.objective.rows import residual_jacobian, row_terms
from pinnsig.problem import INTERIOR, Problem, Sites
from pinnsig.run.judging import residuals_by_term
from pinnsig.sampling import Counts, draw_sites

FARTHEST, SHORTEST = 20.0, 0.2  # ends and length of an interval of order one
OUTPUT_RANGE = (0.02, 50.0)  # sizes of outputs of order one
TERM_RANGE = (3e-3, 300.0)  # sizes of terms of order one
COUNTS = Counts(800, 100, 200)
DATA = 300  # measured values that are looked at
FEATURES = 150  # random features
SLOPES = (0.3, 10.0)  # their slopes, in halves of an input's range
SMOOTH = 1.0  # slope of the functions that terms are sized by
DRAWS = 4  # such functions
STEPS = 6  # of Gauss-Newton, at most
NEGLIGIBLE = 1e-3  # of what an output may be: noise of the rough solution
FOUND = 0.5  # of the loss of zero, at most, is what a rough solution has
CUTOFF = 1e-10  # of the largest singular value


@dataclass(frozen=True)
class Scaling:
    """What is divided by what.

    Attributes:
        outputs: middle and size of each raw output of the network.
        terms: sizes of the residuals, by term.
        notices: a line each, for people.
    """

    outputs: dict[str, tuple[float, float]] = field(default_factory=dict)
    terms: dict[str, float] = field(default_factory=dict)
    notices: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: str | Mapping[str, Any]) -> "Scaling":
        """Return the scaling that a setting says; none for a word."""
        if isinstance(given, str):
            return cls()
        outputs = {name: (pair[0], pair[1]) for name, pair in given["outputs"].items()}
        return cls(outputs, dict(given["terms"]))

    def as_setting(self) -> str | dict[str, Any]:
        """Return what the setting says of it, once it is resolved."""
        if not (self.outputs or self.terms):
            return "none"
        return {
            "outputs": {name: list(pair) for name, pair in self.outputs.items()},
            "terms": self.terms,
        }


def far_from_order_one(domain: Domain) -> bool:
    """Return whether raw coordinates of a domain are no inputs for a network."""
    farthest = np.maximum(np.abs(domain.lower), np.abs(domain.upper))
    return bool((farthest > FARTHEST).any() or (domain.upper - domain.lower < SHORTEST).any())


def find_scaling(problem: Problem, seed: int = 0) -> Scaling:
    """Return the sizes of a problem's outputs and terms; nothing where they are of order one.

    Args:
        problem: with its coefficients; it stays as it is.
        seed: of points and random features.
    """
    try:
        with torch.random.fork_rng(devices=()), np.errstate(all="ignore"):
            return _find(copy.copy(problem), seed)
    except Exception as error:  # the problem's own code, which is met again, and then in full
        text = f"sizes of outputs and terms were not found ({one_line(error)}): nothing is scaled"
        return Scaling(notices=(text,))


def _find(problem: Problem, seed: int) -> Scaling:
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(*b"scaling",)))
    sites = {name: _some(own) for name, own in draw_sites(problem, COUNTS, "lhs", seed).items()}
    far_inputs = problem.scaled_inputs and far_from_order_one(problem.domain)
    names, zero, responses = _sizes(problem, sites, generator)
    response = responses.max(1)
    ratios = (zero / response)[(zero > 0) & (response > 0)]
    # prescribed values that are small say nothing: a solution may fade towards its boundary
    sizes = np.maximum(zero, response)
    if (
        not far_inputs
        and _within(sizes[sizes > 0], TERM_RANGE)
        and (not len(ratios) or _within(ratios.max(), OUTPUT_RANGE))
    ):
        return Scaling()
    found = _quick_solution(problem, sites, generator)
    found = _with_balanced(found, zero, responses)
    problem.output_scales = outputs = {
        name: (middle, spread) if abs(middle) > spread else (0.0, math.hypot(middle, spread))
        for name, (middle, spread) in found.items()
        if not _within(math.hypot(middle, spread), OUTPUT_RANGE) and spread > 0
    }
    _, zero, responses = _sizes(problem, sites, generator)
    sizes = np.maximum(zero, responses.max(1))
    if not outputs and not far_inputs and _within(sizes[sizes > 0], TERM_RANGE):
        return Scaling()
    terms = {n: float(s) for n, s in zip(names, sizes, strict=True) if s > 0}
    return Scaling(outputs, terms, tuple(_words(outputs, terms)))


Outputs = dict[str, tuple[float, float]]


def _with_balanced(found: Outputs, zero: np.ndarray, responses: np.ndarray) -> Outputs:
    """The same, but that an output which is as good as zero gets the size of what it balances.

    So the velocity across a channel is as large as continuity lets it be, not as the noise of a
    rough solution.
    """
    wholes = np.array([math.hypot(*pair) for pair in found.values()])
    parts = responses * wholes
    made = {}
    for j, (name, pair) in enumerate(found.items()):
        others = np.maximum(zero, np.delete(parts, j, 1).max(1, initial=0.0))
        meets = (others > 0) & (responses[:, j] > 0)
        most = float((others[meets] / responses[meets, j]).min(initial=math.inf))
        negligible = most < math.inf and wholes[j] < NEGLIGIBLE * most
        made[name] = (0.0, most) if negligible else pair
    return made


def _words(outputs: Mapping[str, tuple[float, float]], terms: Mapping[str, float]) -> list[str]:
    of_outputs = [
        f"{name} = {f'{middle:.3g} + ' if middle else ''}{size:.3g} n"
        for name, (middle, size) in outputs.items()
    ]
    of_terms = [f"{name} {size:.2g}" for name, size in terms.items()]
    found = [f"outputs {', '.join(of_outputs)}"] if of_outputs else []
    return [
        f"far from order one, so scaled: {'; '.join([*found, 'terms over ' + ', '.join(of_terms)])}"
        " (--scaling none leaves all as it is)"
    ]


def _within(sizes: Any, limits: tuple[float, float]) -> bool:
    return bool(np.all((sizes >= limits[0]) & (sizes <= limits[1])))


def _some(sites: Sites) -> Sites:
    """At most so many measured values, spread over all of them."""
    step = 2 * max(len(sites.points) // (2 * DATA), 1)
    if len(sites.points) <= 3 * DATA:
        return sites
    return Sites(sites.points[::step], {k: column[::step] for k, column in sites.extra.items()})


def _features(
    problem: Problem,
    sites: Mapping[str, Sites],
    count: int,
    slopes: tuple[float, float],
    generator: np.random.Generator,
) -> FFNN:
    """Random features for all raw outputs of a problem."""
    inputs = network_inputs(problem, torch.as_tensor(sites[INTERIOR].points))
    return random_features(inputs, len(problem.outputs), count, slopes, generator)


def _objective(problem: Problem, sites: Mapping[str, Sites], network: FFNN) -> Objective:
    return Objective(Model(problem, network), "auto", sites, checked=True)


def _residuals(objective: Objective) -> list[np.ndarray]:
    """The residuals of every term, each in one array."""
    found = residuals_by_term(objective)
    return [
        np.concatenate([part.values for part in found if part.term == name])
        for name in objective.term_names
    ]


def _sizes(
    problem: Problem, sites: Mapping[str, Sites], generator: np.random.Generator
) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """Names of the terms; root mean squares of their residuals at zero raw outputs, shape (terms,),
    and of how they change with a smooth function of order one in each output, (terms, outputs)."""
    network = _features(problem, sites, 8, (SMOOTH / 2, SMOOTH), generator)
    objective = _objective(problem, sites, network)
    last = network.linears[-1]
    before = _residuals(objective)
    squares = np.zeros((len(before), len(problem.outputs)))
    for j in range(len(problem.outputs)):
        for _ in range(DRAWS):
            weight = torch.as_tensor(generator.standard_normal(last.weight.shape[1]))
            with torch.no_grad():
                last.weight[j] = weight / weight.norm()
                last.bias[j] = float(generator.standard_normal())
            after = _residuals(objective)
            squares[:, j] += [np.mean((b - a) ** 2) for a, b in zip(before, after, strict=True)]
        with torch.no_grad():
            last.weight[j], last.bias[j] = 0.0, 0.0
    zero = np.array([math.sqrt(np.mean(a**2)) for a in before])
    return objective.term_names, zero, np.sqrt(squares / DRAWS)


def _quick_solution(
    problem: Problem, sites: Mapping[str, Sites], generator: np.random.Generator
) -> Outputs:
    """Middle and spread around it of each raw output of a rough solution.

    Gauss-Newton in the output weights of random features, rows and columns scaled to one size.

    Raises:
        ArithmeticError: the residuals are not finite, or no solution was come near to.
    """
    outputs = problem.outputs
    network = _features(problem, sites, FEATURES, SLOPES, generator)
    objective = _objective(problem, sites, network)
    last = network.linears[-1]
    sizes = [p.numel() for p in network.parameters()]
    own = slice(sum(sizes[:-2]), sum(sizes))  # the output layer's weights and biases

    def rows() -> tuple[Tensor, Tensor]:
        parts = [residual_jacobian(objective, block) for block in objective.blocks]
        residual, jacobian = (torch.cat(part) for part in zip(*parts, strict=True))
        jacobian = jacobian[:, own]
        if not (residual.isfinite().all() and jacobian.isfinite().all()):
            raise ArithmeticError("the residuals are not finite at zero")
        return residual, jacobian

    terms = row_terms(objective)
    columns = torch.cat([torch.arange(len(outputs)).repeat_interleave(FEATURES),
                         torch.arange(len(outputs))])  # fmt: skip
    residual, jacobian = rows()
    of_terms, of_outputs = _equilibrated(jacobian, terms, columns, len(outputs))
    row_scales = of_terms[terms] / torch.bincount(terms)[terms].sqrt()
    column_scales = of_outputs[columns]
    weights = torch.cat([p.detach().flatten() for p in (last.weight, last.bias)])
    best, loss = weights, float((residual * row_scales).square().sum())
    start = loss
    for _ in range(STEPS):
        matrix = jacobian * row_scales[:, None] * column_scales
        step = (
            torch.linalg.lstsq(
                matrix, -(residual * row_scales)[:, None], rcond=CUTOFF, driver="gelsd"
            ).solution[:, 0]
            * column_scales
        )
        moved = best + step
        with torch.no_grad():
            last.weight.copy_(moved[: last.weight.numel()].view_as(last.weight))
            last.bias.copy_(moved[last.weight.numel() :])
        residual, jacobian = rows()
        now = float((residual * row_scales).square().sum())
        if not now < 0.99 * loss:
            break
        best, loss = moved, now
    if not loss < FOUND * start:
        raise ArithmeticError("a rough solution is as far off as zero is")
    with torch.no_grad():
        last.weight.copy_(best[: last.weight.numel()].view_as(last.weight))
        last.bias.copy_(best[last.weight.numel() :])
        points = torch.as_tensor(sites[INTERIOR].points)
        values = network(objective.model.inputs(points))
    return {name: _middle_and_spread(v) for name, v in zip(outputs, values.T, strict=True)}


def _middle_and_spread(values: Tensor) -> tuple[float, float]:
    """Mean and standard deviation, which at least a third of the values' half range is."""
    spread = max(float(values.std()), float(values.max() - values.min()) / 6)
    return float(values.mean()), spread


def _equilibrated(
    jacobian: Tensor, terms: Tensor, columns: Tensor, outputs: int
) -> tuple[Tensor, Tensor]:
    """Factors of terms and outputs that bring the blocks of a Jacobian to one size (Ruiz 2001)."""
    count = int(terms.max()) + 1
    blocks = torch.zeros(count, outputs, dtype=jacobian.dtype)
    for j in range(outputs):
        mean = jacobian[:, columns == j].square().mean(1)
        blocks[:, j] = torch.zeros(count, dtype=mean.dtype).index_add_(0, terms, mean)
    blocks = (blocks / torch.bincount(terms)[:, None]).sqrt()
    of_terms, of_outputs = torch.ones(count).double(), torch.ones(outputs).double()
    for _ in range(30):
        scaled = blocks * of_terms[:, None] * of_outputs
        rows, cols = scaled.amax(1), scaled.amax(0)
        of_terms /= torch.where(rows > 0, rows, 1.0).sqrt()
        of_outputs /= torch.where(cols > 0, cols, 1.0).sqrt()
    return of_terms, of_outputs
