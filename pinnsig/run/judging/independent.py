"""Residuals at points that a network was not trained on."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from pinnsig.objective import Objective, Weights
from pinnsig.objective.rows import LeastSquares
from pinnsig.problem import INTERIOR, Sites
from pinnsig.run.judging.points import Array, climb, counts_like, independent_sites

TIMES, LEAST, MOST = 4, 1000, 100_000  # collocation points: of training's, and in all


@dataclass(frozen=True)
class Residuals:
    """One residual at its points.

    Attributes:
        term: of the loss.
        points: shape (N, dimensions).
        values: shape (N,).
    """

    term: str
    points: Array
    values: Array


@dataclass(frozen=True)
class Independent:
    """What the residuals are at points of the judge's own.

    Attributes:
        terms: by term, `mean_square` over uniform points, its `ratio` to the one in training,
            `largest` |r| over all points, and `at`, the coordinates there.
        uniform: how many uniform points there were in all.
        points: collocation points, uniform and near the largest residuals, shape (N, dimensions).
        sizes: the 2-norms over the equations there, shape (N,).
    """

    terms: dict[str, dict[str, Any]]
    uniform: int
    points: Array
    sizes: Array

    def as_dict(self) -> dict[str, Any]:
        """What `result.json` holds."""
        return {"points": self.uniform, "terms": self.terms}

    @property
    def bad(self) -> int:
        """At how many of the points the residual is not finite."""
        return int(np.count_nonzero(~np.isfinite(self.sizes)))


def judge_residuals(objective: Objective, trained: dict[str, float], seed: int) -> Independent:
    """Return what the residuals are at several times as many points as in training, and the worst.

    Args:
        objective: the loss at the points of the training.
        trained: mean squares there, by term.
        seed: of the run; the points are a function of it.
    """
    model, sites = objective.model, objective.sites
    count = min(max(TIMES * len(sites[INTERIOR].points), LEAST), MOST)
    counts = counts_like(sites, model.problem, count)
    drawn = independent_sites(model.problem, sites, counts, seed, 0)
    uniform = Objective(model, objective.engine_name, drawn, checked=True)
    found = residuals_by_term(uniform)
    terms = {
        part.term: _summary(part, found, trained, model.problem.domain.names) for part in found
    }
    inside = [part for part in found if part.term in uniform.interior.terms]
    points = [drawn[INTERIOR].points]
    sizes = [np.sqrt(np.sum([part.values**2 for part in inside], axis=0))]
    if np.isfinite(sizes[0]).all():
        for around, heights in climb(uniform, points[0], sizes[0], seed):
            points.append(around)
            sizes.append(np.where(np.isfinite(heights), heights, np.nan))
        near = Objective(
            model,
            objective.engine_name,
            {INTERIOR: Sites(np.concatenate(points[1:]))},
            checked=True,
        )
        for part in residuals_by_term(near):
            _raise(terms[part.term], part, model.problem.domain.names)
    whole = sum(len(own.points) for own in drawn.values())
    return Independent(terms, whole, np.concatenate(points), np.concatenate(sizes))


@torch.no_grad()
def residuals_by_term(objective: Objective) -> list[Residuals]:
    """Return every residual of an objective, with the points it belongs to, in float64."""
    plain = LeastSquares(objective, Weights(torch.ones_like(objective.weights.terms)))
    values = plain.residuals().double().cpu().numpy()
    found, start = [], 0
    for block in objective.blocks:
        points = block.points[:: block.stride].double().cpu().numpy()
        for term in block.residual_terms:
            part = values[start : start + len(points)] * np.sqrt(len(points))
            found.append(Residuals(term, points, part))
            start += len(points)
    return found


def _summary(
    part: Residuals, found: list[Residuals], trained: dict[str, float], names: tuple[str, ...]
) -> dict[str, Any]:
    same = [other for other in found if other.term == part.term]
    mean_square = float(sum(np.mean(other.values**2) for other in same))
    before = trained.get(part.term, 0.0)
    made = {
        "mean_square": mean_square,
        "ratio": mean_square / before if before > 0 else None,
        "largest": -1.0,
        "at": {},
    }
    for other in same:
        _raise(made, other, names)
    return made


def _raise(summary: dict[str, Any], part: Residuals, names: tuple[str, ...]) -> None:
    """Take over the largest |r|, where it is larger; what is not finite is largest."""
    sizes = np.where(np.isfinite(part.values), np.abs(part.values), np.inf)
    at = int(np.argmax(sizes))
    if sizes[at] > summary["largest"]:
        summary["largest"] = float(sizes[at])
        summary["at"] = dict(zip(names, part.points[at].tolist(), strict=True))
