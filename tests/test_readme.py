"""The problem that the README shows is right; `tests/docs` runs all that it shows."""

from pathlib import Path

import pinnsig
from pinnsig.problem import problem_class
from pinnsig.testing import ProblemChecks
from tests.conftest import SMALL
from tests.docs.pages import README, blocks


def test_the_problem_in_one_file(tmp_path: Path):
    path = tmp_path / "heat.py"
    (code,) = (b.text for b in blocks(README) if "class Heat(Problem)" in b.text)
    path.write_text(code, encoding="utf-8")
    result = pinnsig.solve(
        str(path), runs=tmp_path / "runs", figures=False, set={"k": 0.2}, **SMALL
    )
    assert result.relative_l2 > 0
    assert pinnsig.load(result.path).model.problem.values() == {"k": 0.2}
    checks = type("Checks", (ProblemChecks,), {"problem": problem_class(str(path))})()
    checks.test_residual_of_the_solution_is_zero()
    checks.test_solution_meets_the_conditions()
    checks.test_partials_match_finite_differences()
