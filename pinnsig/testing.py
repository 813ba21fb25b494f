"""Checks that every problem passes, the built-in ones and those of other packages.

from pinnsig.testing import ProblemChecks

class TestHeat(ProblemChecks):
    problem = Heat
"""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pinnsig.activations import Tanh
from pinnsig.core.types import PointArray, UnitArray
from pinnsig.derivatives import JetsEngine, NestedEngine, Plan, coordinate_jets, output_jets
from pinnsig.initializers import Xavier
from pinnsig.model import Model
from pinnsig.model.evaluation import at_true_values, reference_values
from pinnsig.model.fields import features_of, input_count, trace_partials
from pinnsig.networks import FFNN
from pinnsig.objective import Objective, expressions
from pinnsig.problem import INTERIOR, Box, Domain, Problem, Sites
from pinnsig.sampling import Counts, draw_sites

MESHED = 5  # coordinates of which all corners are taken


class ProblemChecks:
    """Inherit from it in a test class and set `problem`; pytest does the rest.

    Attributes:
        problem: the class under test, or an instance with other coefficients.
        margin: the share of every interval left out at each end where the residual of the
            solution is checked; raise it where the solution is singular at the border.
        residual_points: at how many points the residual of the solution is checked; fewer where
            it is a slow one.
        residual_tolerance: largest residual of the solution, against its own partials' size.
        condition_tolerance: largest absolute miss of a condition by the solution.
    """

    problem: ClassVar[type[Problem] | Problem]
    margin: ClassVar[float] = 0.02
    residual_points: ClassVar[int] = 200
    residual_tolerance: ClassVar[float] = 1e-8
    condition_tolerance: ClassVar[float] = 1e-8

    @property
    def made(self) -> Problem:
        """The problem as an instance."""
        return self.problem if isinstance(self.problem, Problem) else self.problem()

    def test_is_well_formed(self) -> None:
        """Conditions have points inside the domain, and every residual the right shape."""
        problem = self.made
        sites = self._sites(problem)
        assert set(problem.terms()) <= set(sites)
        for found in sites.values():
            assert found.points.shape[1] == problem.domain.dimensions
            assert problem.domain.contains(found.points).all()
        assert self._objective(torch.float64).term_names

    def test_residual_of_the_solution_is_zero(self) -> None:
        """The residual vanishes on the solution, in the interior."""
        problem = self._with_solution(whole=True)
        points = self._inside(problem, self.residual_points)
        for name, (residuals, size) in self._on_solution(
            problem, {INTERIOR: Sites(points)}
        ).items():
            assert residuals.abs().max() <= self.residual_tolerance * size, name

    def test_solution_meets_the_conditions(self) -> None:
        """Every condition holds for the solution."""
        problem = self._with_solution(whole=True)
        sites = {name: s for name, s in self._sites(problem).items() if name != INTERIOR}
        for name, (residuals, _) in self._on_solution(problem, sites).items():
            assert residuals.abs().max() <= self.condition_tolerance, name

    def test_solution_is_finite_and_keeps_its_shape(self) -> None:
        """The solution gives one finite number for each point, borders and corners included."""
        problem = self._with_solution()
        points = _border(problem.domain)
        columns = dict(zip(problem.domain.names, torch.from_numpy(points).unbind(1), strict=True))
        found = reference_values(problem, columns)
        assert found

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_engines_agree(self, dtype: torch.dtype) -> None:
        """Loss and gradient are the same by every engine, in the run's own type."""
        a, b = (self._objective(dtype, engine()) for engine in (JetsEngine, NestedEngine))
        tolerance = 1e-10 if dtype == torch.float64 else 1e-3
        torch.testing.assert_close(a.evaluate().loss, b.evaluate().loss, rtol=tolerance, atol=1e-12)
        assert a.flat.gradient.dtype == dtype
        off = (a.flat.gradient - b.flat.gradient).abs().max()
        assert off <= tolerance * b.flat.gradient.abs().max()

    def test_partials_match_finite_differences(self) -> None:
        """Every partial is the slope of the one below it."""
        objective = self._objective(torch.float64)
        problem, network = objective.model.problem, objective.model.network
        block = objective.interior
        points, plan = block.points[:5], block.plan

        def table(at: Tensor) -> Tensor:
            with torch.no_grad():
                return JetsEngine().partials(network, features_of(problem), at, plan)

        values = table(points)
        for alpha in plan.alphas[1:]:
            axis = next(i for i, k in enumerate(alpha) if k)
            lower = tuple(k - (i == axis) for i, k in enumerate(alpha))
            step = torch.zeros_like(points)
            step[:, axis] = 1e-5 * (problem.domain.upper - problem.domain.lower)[axis]
            rise = (table(points + step) - table(points - step))[plan.index[lower]]
            slope = rise / (2 * step[0, axis])
            exact = values[plan.index[alpha]]
            size = 1 + values.abs().max()
            assert (slope - exact).abs().max() <= 1e-6 * size, alpha

    # --- how -------------------------------------------------------------------------------------

    def _with_solution(self, whole: bool = False) -> Problem:
        problem = at_true_values(self.made)
        if not problem.has("solution"):
            pytest.skip(f"{type(problem).__name__} has no solution to check against")
        one = torch.from_numpy(self._inside(problem, 1))
        columns = dict(zip(problem.domain.names, one.unbind(1), strict=True))
        known = reference_values(problem, columns)
        if whole and len(known) < len(problem.fields):
            pytest.skip(f"{type(problem).__name__} has a solution for {', '.join(known)} only")
        if any(function.true is None for function in problem.functions().values()):
            pytest.skip(f"{type(problem).__name__} has a function that is not known")
        return problem

    def _inside(self, problem: Problem, count: int) -> PointArray:
        """Points inside, away from the border."""
        generator = np.random.default_rng(0)

        def draw(n: int, dimensions: int) -> UnitArray:
            return self.margin + (1 - 2 * self.margin) * generator.random((n, dimensions))

        return problem.domain.sample(count, draw)

    @staticmethod
    def _sites(problem: Problem) -> dict[str, Sites]:
        parts = sum(len(condition.parts(problem.domain)) for condition in problem.terms().values())
        return draw_sites(problem, Counts(20, max(parts, 12), max(parts, 24)), "lhs", seed=0)

    def _objective(self, dtype: torch.dtype, engine: Any = None) -> Objective:
        problem = self.made
        network = FFNN(input_count(problem), len(problem.outputs), 2, 8, Tanh(), dtype=dtype)
        Xavier(sigma_b=0.1).fill(network, torch.Generator().manual_seed(0))
        return Objective(Model(problem, network), engine or JetsEngine(), self._sites(problem))

    @staticmethod
    def _on_solution(problem: Problem, sites: dict[str, Sites]) -> dict[str, tuple[Tensor, Tensor]]:
        """Residuals of the solution, and the size of its partials, by name."""
        solution = _Solution(problem)
        found = {}
        for name, residual, _ in expressions(problem, problem.terms()):
            if name not in sites:
                continue
            like = torch.empty(0, dtype=torch.float64)
            points, extra = sites[name].tensors(problem.domain.names, like)

            def expression(
                fields: Any, at: Any, residual: Any = residual, extra: Any = extra
            ) -> Any:
                return residual(fields, at, extra)

            plan, _ = trace_partials(problem, expression, points, ansatz=False)
            table = _partials_of(solution, points, plan)
            names = (*problem.fields, *problem.functions())
            fields = dict(zip(names, output_jets(table, plan), strict=True))
            residuals = expression(fields, coordinate_jets(problem.domain.names, points))
            size = 1 + table.abs().max()
            found |= {f"{name}: {key}": (r, size) for key, r in residuals.items()}
        return found


def _border(domain: Domain) -> PointArray:
    """Points on the border of a domain; of a box its corners, middles of edges and the middle."""
    generator = np.random.default_rng(0)
    if isinstance(domain, Box):
        levels = np.array([0.0, 0.5, 1.0])
        if domain.dimensions > MESHED:
            return domain.place(generator.choice(levels, (200, domain.dimensions)))
        corners = np.meshgrid(*[levels] * domain.dimensions)
        return domain.place(np.stack([c.ravel() for c in corners], axis=1))

    def draw(count: int, dimensions: int) -> UnitArray:
        return generator.random((count, dimensions))

    return np.concatenate([domain.sample_part(part, 20, draw)[0] for part in domain.sides])


class _Solution(nn.Module):
    """The solution and the true functions as a module, so that an engine can differentiate it."""

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        self.problem = problem

    def forward(self, x: Tensor) -> Tensor:
        """Solution and true functions at points of shape (N, dimensions), shape (N, fields)."""
        columns = dict(zip(self.problem.domain.names, x.unbind(1), strict=True))
        values = self.problem.call("solution", columns)
        if isinstance(values, Tensor):
            values = (values,)
        elif isinstance(values, dict):
            values = [values[field] for field in self.problem.fields]
        known = self.problem.functions().values()
        true = [function.true_values(self.problem, columns) for function in known]
        return torch.stack([*values, *(column for column in true if column is not None)], dim=1)


def _partials_of(solution: Callable[..., Any], points: Tensor, plan: Plan) -> Tensor:
    table = NestedEngine().partials(solution, None, points, plan)  # type: ignore[arg-type]
    if len(plan) > 1 and not table.requires_grad:
        pytest.skip("the solution is not made of torch operations, so its partials are unknown")
    return table.detach()
