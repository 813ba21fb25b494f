"""problems, activations, init and check-activation."""

from pathlib import Path

import pytest

from pinnsig.problem import registry
from tests.conftest import Cli


def test_problems(cli: Cli):
    found = cli("problems", "--json").json()
    assert {"burgers", "black-scholes"} <= found.keys()
    assert found["black-scholes"]["fields"] == ["V"]
    assert found["black-scholes"]["settings"]["kind"] == "call"
    shown = cli("problems").out
    assert "Box(x=(-1, 1), t=(0, 1))" in shown
    assert "nu=0.0031831" in shown


def test_one_problem_with_its_terms(cli: Cli, heat: Path):
    found = cli("problems", "elasticity", "--json").json()
    assert found["terms"] == {
        "force_x": "residual", "force_y": "residual", "sides": "boundary",
        "sides_strain": "boundary", "bottom": "boundary", "top": "boundary",
        "top_strain": "boundary",
    }  # fmt: skip
    shown = cli("problems", heat)
    assert shown.code == 0
    for line in (
        "Heat equation u_t = k u_xx.",
        "Box(x=(0, 1), t=(0, 1))",
        "k        0.1      above 0",
        "initial   initial",
    ):
        assert line in shown.out
    assert "problem 'nothing' is unknown" in cli("problems", "nothing").complaint()


def test_one_problem(cli: Cli):
    shown = cli("problems", "inverse-heat").out
    assert "exp(-k pi" in shown
    assert "above 0; learned, starts at 0.1, true k_true" in shown
    found = cli("problems", "inverse-heat", "--json").json()
    assert found["learned"] == {"k": {"start": 0.1, "true": "k_true"}}
    assert "call or put" in cli("problems", "black-scholes").out
    assert "k=0.1 (learned), k_true=0.2" in cli("problems").out
    assert "did you mean burgers" in cli("problems", "burger").complaint()


def test_a_broken_plug_in_does_not_hide_the_other_problems(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
):
    class Broken:
        name = "broken"

        def load(self) -> None:
            raise ImportError("not here")

    known = registry.problem_entries()
    monkeypatch.setattr(registry, "problem_entries", lambda: {**known, "broken": Broken()})
    monkeypatch.setattr("pinnsig.cli.describing.problem_entries", registry.problem_entries)
    listed = cli("problems")
    assert listed.code == 0
    assert "burgers" in listed.out
    assert "'broken' cannot be loaded" in listed.err


def test_activations(cli: Cli):
    found = cli("activations", "--json").json()
    named = {"tanh", "erf", "arctan", "arctan_normalised", "gd", "softsign1", "softsign2"}
    assert named <= found.keys()
    assert found["erf"]["omega"] == pytest.approx(0.886226925452758)
    assert found["arctan"]["bound"] == pytest.approx(1.5707963267948966)
    assert found["sin"]["omega"] is None
    assert found["gelu"] == {"expression": "gelu(x)", "omega": None, "bound": None}
    shown = cli("activations")
    assert shown.code == 0
    assert "softsign<k>" in shown.out


def test_init_of_the_paper(cli: Cli):
    found = cli("init", "tanh", "--scale", "1.3", "--depth", "50", "--json").json()
    omega = 1 / 1.3
    assert found["omega"] == pytest.approx(omega)
    assert found["p"] == 0.49
    assert found["sigma_z"] == pytest.approx(0.5621486256083097 * omega, rel=1e-12)
    assert found["sigma_w"] is None
    assert found["sigma_b"] == 0.0
    assert found["chi"] > 0
    assert found["learning_rate"] == pytest.approx(1e-4 * omega)
    assert found["band"] == pytest.approx([1e-5 * omega, 1e-3 * omega])


def test_init_by_the_rule_for_p(cli: Cli):
    found = cli("init", "tanh", "--p", "auto", "--json").json()
    assert found["p"] == pytest.approx(2.05 * 2.718281828459045 ** (-0.133 * 50))
    assert found["sigma_z"] == pytest.approx(0.25802827435186904, rel=1e-9)


def test_init_on_the_edge_of_chaos(cli: Cli):
    found = cli("init", "tanh", "--init", "eoc", "--json").json()
    assert found["sigma_w"] == pytest.approx(1.3041458, abs=1e-7)
    assert (found["sigma_b"], found["sigma_z"], found["p"]) == (0.2, None, None)
    at_zero = cli(
        "init", "tanh", "--scale", "2", "--init", "eoc", "--sigma-b", "0", "--json"
    ).json()
    assert at_zero["sigma_w"] == pytest.approx(0.5)


def test_init_as_a_table(cli: Cli):
    shown = cli("init", "tanh", "--scale", "1.3", "--depth", "50")
    assert shown.code == 0
    pairs = dict(line.split(maxsplit=1) for line in shown.out.splitlines())
    keys = {"omega", "p", "sigma_z", "sigma_w", "sigma_b", "chi", "learning_rate", "band"}
    assert pairs.keys() >= keys
    assert pairs["omega"] == "0.769231"
    assert pairs["sigma_w"] == "-"


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ("tnh", "tanh"),
        ("softsign0.5", "k"),
        ("tanh --scale -1", "scale = -1 must be greater than 0"),
        ("tanh --p 0.5", "p = 0.5"),
        ("tanh --p -0.1", "p = -0.1"),
        ("tanh --depth 0", "depth = 0"),
        ("tanh --sigma-b -1", "sigma_b = -1"),
        ("tanh --init hee", "he"),
        ("tanh --init eoc --sigma-b 1e300", "sigma_b"),
    ],
)
def test_init_wrong(cli: Cli, arguments: str, part: str):
    assert part in cli("init", *arguments.split()).complaint()


FAILS = {
    "relu": {"regularity", "odd symmetry", "boundedness"},
    "sin": {"strict monotonicity"},
    "x**3": {"boundedness", "slope decay"},
    "softplus": {"odd symmetry", "boundedness"},
    "tanh(x)+0.1x": {"boundedness"},
    "-tanh(x)": {"strict monotonicity"},
    "sign": {"regularity"},
}


@pytest.mark.parametrize("expression", FAILS)
def test_check_activation_names_what_fails(cli: Cli, expression: str):
    outcome = cli("check-activation", expression, "--json")
    assert (outcome.code, outcome.err) == (1, "")
    shown = cli("check-activation", expression)
    assert shown.code == 1
    assert f"{expression} is not an odd-sigmoid function" in shown.out
    lines = [line for line in shown.out.splitlines() if "  fails  " in line]
    failed = {line.partition("  fails  ")[0].strip() for line in lines}
    assert failed >= FAILS[expression]


@pytest.mark.parametrize("expression", ["tanh", "tanh(10x)+erf(1000x)+softsign1(10x)/10+gd(x)"])
def test_check_activation_accepts_members(cli: Cli, expression: str):
    found = cli("check-activation", expression, "--json").json()
    assert found["holds"]
    assert len(found["conditions"]) == 5
    assert cli("check-activation", expression).code == 0


def test_check_activation_unreadable(cli: Cli):
    assert "'tanh('" in cli("check-activation", "tanh(").complaint()


def test_help_lists_every_command_whole(cli: Cli):
    shown = cli("--help")
    assert shown.code == 0
    assert "..." not in shown.out.partition("Commands:")[2]
    assert "--sigma-b" in cli("solve", "--help").out
