"""Points that a network was not trained on, by the seed of its run alone."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from pinnsig.objective import Objective
from pinnsig.problem import INTERIOR, Problem, Sites
from pinnsig.sampling import Counts, draw_inside, draw_sites

Array = NDArray[np.float64]

FIRST_DRAW = 2**31  # beyond every draw of training
UNIFORM = "uniform"  # a grid would give the same points each time
ROUNDS, NEAREST, AROUND = 8, 8, 32  # of the search for the largest residual


def stream(seed: int, name: str) -> np.random.Generator:
    """Return a random stream of the judge's own."""
    return np.random.default_rng(
        np.random.SeedSequence(seed, spawn_key=(FIRST_DRAW, *name.encode()))
    )


def independent_sites(
    problem: Problem, sites: Mapping[str, Sites], counts: Counts, seed: int, number: int
) -> dict[str, Sites]:
    """Return uniform points for every term that has some; a condition's given ones stay.

    Args:
        problem: whose domain and conditions to draw for.
        sites: of the training.
        counts: how many points.
        seed: of the run.
        number: which draw, from 0.
    """
    drawn = draw_sites(problem, counts, UNIFORM, seed, FIRST_DRAW + number)
    if problem.collocation_points is not None:
        inside = draw_inside(problem, counts.collocation, UNIFORM, seed, FIRST_DRAW + number)
        drawn[INTERIOR] = inside
    terms = problem.terms()
    return {
        name: sites[name] if name in terms and terms[name].given else own
        for name, own in drawn.items()
        if name in sites
    }


def counts_like(sites: Mapping[str, Sites], problem: Problem, count: int) -> Counts:
    """Return `count` collocation points, and points of conditions in about their proportion."""
    groups = {"initial": 0, "boundary": 0}
    for name, condition in problem.terms().items():
        group = "boundary" if condition.group == "interface" else condition.group
        if name in sites and group in groups and not condition.given:
            groups[group] += len(sites[name].points)
    inside = len(sites[INTERIOR].points)
    few = {
        name: n and max(n, min(4 * n, n * count // inside, count // 4))
        for name, n in groups.items()
    }
    return Counts(count, few["initial"], few["boundary"])


def by_residual(
    pool: Array, sizes: Array, count: int, generator: np.random.Generator
) -> tuple[Array, Array]:
    """Draw points, half of them in proportion to |r|, with what each stands for.

    Args:
        pool: candidates, uniform in the domain, shape (N, dimensions).
        sizes: |r| there, shape (N,).
        count: how many to draw.
        generator: of the choice.

    Returns:
        Points, shape (count, dimensions), and weights, shape (count,), with which their means are
        those over the domain (importance sampling).
    """
    mean = sizes.mean()
    density = 0.5 + 0.5 * (sizes / mean if mean > 0 else np.ones_like(sizes))
    chosen = generator.choice(len(pool), count, p=density / density.sum())
    return pool[chosen], 1.0 / density[chosen]


def climb(
    objective: Objective, pool: Array, sizes: Array, seed: int
) -> Iterator[tuple[Array, Array]]:
    """Draw around the largest residuals, nearer and nearer; yields points and |r| there.

    Args:
        objective: gives the residuals.
        pool: where the search starts, shape (N, dimensions).
        sizes: |r| there, shape (N,).
        seed: of the run.
    """
    domain, generator = objective.model.problem.domain, stream(seed, "climb")
    span = domain.upper - domain.lower
    reach = len(pool) ** (-1.0 / domain.dimensions)  # about the distance between neighbours
    for _ in range(ROUNDS):
        order = np.argsort(-sizes, kind="stable")[:NEAREST]
        best, heights = pool[order], sizes[order]
        steps = generator.uniform(-reach, reach, (len(best), AROUND, domain.dimensions)) * span
        around = np.clip(best[:, None] + steps, domain.lower, domain.upper).reshape(-1, len(span))
        around = around[domain.contains(around)]
        found = objective.residual_sizes(torch.as_tensor(around)).double().cpu().numpy()
        yield around, found
        pool, sizes = np.concatenate([best, around]), np.concatenate([heights, found])
        reach /= 2


def moved(sites: Mapping[str, Sites], inside: Array) -> dict[str, Sites]:
    """Return the same points but for the collocation points."""
    return {**sites, INTERIOR: replace(sites[INTERIOR], points=inside)}
