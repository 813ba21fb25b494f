"""What the README shows works as it stands there."""

import re
import textwrap
from pathlib import Path

import pinnsig
from pinnsig.problem import problem_class
from pinnsig.testing import ProblemChecks
from tests.conftest import SMALL

README = Path(__file__).parents[1] / "README.md"


def block(holding: str) -> str:
    """The README's Python block that holds a text."""
    found = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    return next(code for code in found if holding in code)


def test_the_problem_in_one_file(tmp_path: Path):
    path = tmp_path / "heat.py"
    path.write_text(block("class Heat(Problem)"), encoding="utf-8")
    result = pinnsig.solve(
        str(path), runs=tmp_path / "runs", figures=False, set={"k": 0.2}, **SMALL
    )
    assert result.relative_l2 > 0
    assert pinnsig.load(result.path).model.problem.values() == {"k": 0.2}
    checks = type("Checks", (ProblemChecks,), {"problem": problem_class(str(path))})()
    checks.test_residual_of_the_solution_is_zero()
    checks.test_solution_meets_the_conditions()
    checks.test_partials_match_finite_differences()


def test_every_block_is_python():
    for code in re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL):
        compile(textwrap.dedent(code), "README.md", "exec")  # a block may stand in a list
