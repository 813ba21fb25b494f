"""Wrong input to `solve`: one clear line, exit code 2, no run directory left behind."""

from pathlib import Path

import pytest
import torch

from tests.conftest import HEAT, Cli

WRONG: list[tuple[str, list[str]]] = [
    ("burgrs", ["problem 'burgrs' is unknown", "did you mean burgers?"]),
    ("missing.py", ["no file", "missing.py"]),
    ("", ["name a problem", "pinnsig problems"]),
    ("burgers extra", ["extra"]),
    ("burgers --act tnh", ["'tnh'", "tanh"]),
    ("burgers --act relu", ["relu", "odd-sigmoid"]),
    ("burgers --act -tanh(x)", ["-1", "> 0"]),
    ("burgers --act softsign0.5", ["k", "0.5"]),
    ("burgers --init calibratd", ["calibrated"]),
    ("burgers --init eoc:sgma_b=1", ["sigma_b"]),
    ("burgers --init xavier --p 0.3", ["xavier", "'p'"]),
    ("burgers --sampler lsh", ["lhs"]),
    ("burgers --engine fast", ["engine 'fast' is unknown", "jets"]),
    ("burgers --dtype float16", ["dtype", "float16"]),
    ("burgers --device tpu", ["device 'tpu' is unknown"]),
    ("burgers --device cuda:x", ["cuda:x"]),
    ("burgers --device mps --dtype float64", ["mps has no float64"]),
    ("burgers --preset quik", ["did you mean quick?"]),
    ("burgers --depth deep", ["--depth", "deep"]),
    ("burgers --depth 2.5", ["--depth", "2.5"]),
    ("burgers --depth 0", ["depth = 0 must be at least 1"]),
    ("burgers --width -3", ["width = -3 must be at least 1"]),
    ("burgers --adam -1", ["adam = -1 must be at least 0"]),
    ("burgers --lbfgs -1", ["lbfgs = -1 must be at least 0"]),
    ("burgers --collocation 0", ["collocation = 0 must be at least 1"]),
    ("burgers --initial -1", ["initial = -1 must be at least 0"]),
    ("burgers --boundary -1", ["boundary = -1 must be at least 0"]),
    ("burgers --boundary 1", ["boundary count 1 is too small", "2 faces"]),
    ("burgers --seed -1", ["seed = -1 must be at least 0"]),
    ("burgers --log-every 0", ["log_every = 0 must be at least 1"]),
    ("burgers --lr 0", ["lr = 0 must be greater than 0"]),
    ("burgers --lr nan", ["lr = nan must be finite"]),
    ("burgers --scale -1e-3", ["scale = -0.001 must be greater than 0"]),
    ("burgers --scale big", ["--scale", "big"]),
    ("burgers --p 0.5", ["p = 0.5 must be below 0.5", "auto"]),
    ("burgers --p often", ["--p", "often", "auto"]),
    ("burgers --sigma-b -1", ["sigma_b = -1 must be at least 0"]),
    ("burgers --weight bundary=1", ["'bundary'", "did you mean boundary?"]),
    ("burgers --weight residual=-1", ["weight of residual = -1 must be at least 0"]),
    ("burgers --weight residual=much", ["weight of residual", "much"]),
    ("burgers --weight residual", ["--weight", "NAME=VALUE"]),
    ("burgers --set mu=1", ["no coefficient 'mu'", "nu"]),
    ("burgers --set nu=-1e-3", ["nu = -0.001", "greater than 0"]),
    ("burgers --set nu=thick", ["nu = 'thick' is not a number"]),
    ("burgers --set nu", ["--set", "NAME=VALUE"]),
    ("black-scholes --set kind=cal", ["kind = 'cal'", "call or put"]),
    ("burgers --unknown", ["--unknown"]),
    ("burgers --sclae 2", ["--sclae", "--scale"]),
    ("burgers --seed", ["--seed", "argument"]),
    ("burgers --config nowhere.toml", ["cannot read nowhere.toml"]),
]


@pytest.mark.parametrize(("arguments", "parts"), WRONG, ids=[a or "nothing" for a, _ in WRONG])
def test_wrong_input(solve: Cli, runs: Path, arguments: str, parts: list[str]):
    line = solve(*arguments.split()).complaint()
    for part in parts:
        assert part in line
    assert not runs.exists()


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without CUDA")
def test_cuda_that_is_absent(solve: Cli, runs: Path):
    assert "cuda is not available" in solve("burgers", "--device", "cuda").complaint()
    assert not runs.exists()


RESIDUAL = "return u.t - self.k * u.xx"
SOLUTION = "return torch.exp(-self.k * math.pi**2 * t) * torch.sin(math.pi * x)"
BOUNDARY = 'yield Dirichlet(on="x", u=0.0)'

FAULTS: dict[str, tuple[str, str, list[str]]] = {
    "residual of shape (N, 1)": (
        RESIDUAL,
        "return (u.t - self.k * u.xx).value[:, None]",
        ["residual must have shape (4,), not (4, 1)"],
    ),
    "residual is a number": (RESIDUAL, "return 1.0", ["residual", "not float"]),
    "residual returns nothing": (RESIDUAL, "pass", ["residual", "not NoneType"]),
    "residual returns an empty list": (RESIDUAL, "return []", ["residual"]),
    "residual of another shape at many points": (
        RESIDUAL,
        "r = (u.t - self.k * u.xx).value\n        return r if len(r) < 9 else r[:9]",
        ["residual must have shape (23,), not (9,)"],
    ),
    "residual fails": (RESIDUAL, "return u.t - kappa * u.xx", ["Heat", "kappa"]),
    "residual fails at many points": (
        RESIDUAL,
        "assert len(u.value) < 9, 'too many'\n        return u.t",
        ["Heat", "too many"],
    ),
    "unknown partial": (RESIDUAL, "return u.yy", ["'yy'", "x, t"]),
    "unknown parameter": ("def residual(self, u)", "def residual(self, v)", ["residual", "'v'"]),
    "gradient poisoned by the branch not taken": (
        RESIDUAL,
        "return torch.where(u.value > 9, torch.sqrt(u.value - 9), u.value)",
        ["not finite at the start", "residual"],
    ),
    "loss not finite": (
        RESIDUAL,
        "return u.t + torch.log(u.value - 1e6)",
        ["not finite at the start", "residual"],
    ),
    "no condition": (BOUNDARY, "yield 3", ["Heat.conditions gives 3"]),
    "conditions fail": (BOUNDARY, "raise KeyError('z')", ["Heat", "conditions", "'z'"]),
    "condition on no coordinate": (BOUNDARY, 'yield Dirichlet(on="y", u=0.0)', ["'y'", "x, t"]),
    "condition on no field": (BOUNDARY, 'yield Dirichlet(on="x", v=0.0)', ["'v' is no field"]),
    "condition of shape (N, 1)": (
        "lambda x: torch.sin(math.pi * x)",
        "lambda x: torch.sin(math.pi * x)[:, None]",
        ["Initial", "(4, 1)"],
    ),
    "solution of shape (N, 1)": (SOLUTION, "return x[:, None]", ["Heat.solution", ", 1)"]),
    "solution is a number": (SOLUTION, "return 0.0", ["Heat.solution", "not float"]),
    "solution fails": (SOLUTION, "return torch.nothing(x)", ["Heat", "solution", "nothing"]),
    "solution not finite at the end": (
        SOLUTION,
        "return torch.log(1 - x)",
        ["Heat.solution must be finite: u is -inf at x = 1, t = 0"],
    ),
    "syntax error": (RESIDUAL, "return u.t -", ["line 13", "syntax error"]),
    "import fails": ("import math", "import no_such_module\nimport math", ["no_such_module"]),
    "raises on import": ("class Heat", "raise RuntimeError('boom')\nclass Heat", ["boom"]),
    "exits on import": ("class Heat", "raise SystemExit(0)\nclass Heat", ["SystemExit"]),
    "no problem": ("(Problem):", "(object):", ["no problem", "extends Problem"]),
    "no domain": ("domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))", "pass", ["no domain"]),
    "empty interval": ("x=(0.0, 1.0)", "x=(1.0, 0.0)", ["coordinate x"]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_users_file_with_a_fault(solve: Cli, runs: Path, heat: Path, fault: str):
    old, new, parts = FAULTS[fault]
    assert old in HEAT
    heat.write_text(HEAT.replace(old, new), encoding="utf-8")
    line = solve(heat).complaint()
    for part in parts:
        assert part in line
    assert not runs.exists()


def test_a_class_that_is_not_in_the_file(solve: Cli, heat: Path):
    assert "it has Heat" in solve(f"{heat}:Wave").complaint()


def test_a_binary_file_as_problem(solve: Cli, tmp_path: Path):
    path = tmp_path / "binary.py"
    path.write_bytes(bytes(range(256)))
    assert "binary.py" in solve(path).complaint()


BAD_CONFIGS: list[tuple[str, bytes, list[str]]] = [
    ("a.toml", b'lr = "1e-4"', ["a.toml", "lr = '1e-4' must be a number (without quotes"]),
    ("a.toml", b"sclae = 2", ["a.toml", "'sclae' is unknown: did you mean scale?"]),
    ("a.toml", b"adam = 1.5", ["a.toml", "adam = 1.5 must be a whole number"]),
    ("a.toml", b"depth = true", ["a.toml", "depth = True"]),
    ("a.toml", b"lr = nan", ["a.toml", "lr = nan must be finite"]),
    ("a.toml", b"set = 3", ["a.toml", "set = 3 must be a table"]),
    ("a.toml", b"weight = {initial = -1}", ["a.toml", "weight of initial"]),
    ("a.toml", b"lr = = 3", ["a.toml is not valid TOML", "line 1"]),
    ("a.toml", bytes(range(128, 256)), ["a.toml", "no text file"]),
    ("a.json", b'{"lr": }', ["a.json is not valid JSON", "line 1"]),
    ("a.json", b"[1, 2]", ["a.json must hold a table"]),
]


@pytest.mark.parametrize(("name", "content", "parts"), BAD_CONFIGS)
def test_a_bad_config(
    solve: Cli, runs: Path, tmp_path: Path, name: str, content: bytes, parts: list[str]
):
    (tmp_path / name).write_bytes(content)
    line = solve("burgers", "--config", tmp_path / name).complaint()
    for part in parts:
        assert part in line
    assert not runs.exists()


def test_a_folder_as_config(solve: Cli, tmp_path: Path):
    assert "cannot read" in solve("burgers", "--config", tmp_path).complaint()


def test_runs_that_cannot_be_written(solve: Cli, tmp_path: Path):
    (tmp_path / "taken").write_text("mine", encoding="utf-8")
    assert "cannot make" in solve("burgers", "--runs", tmp_path / "taken").complaint()
    assert (tmp_path / "taken").read_text(encoding="utf-8") == "mine"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "burgers").write_text("mine", encoding="utf-8")
    assert "cannot make" in solve("burgers", "--runs", tmp_path / "other").complaint()


def test_no_such_command(cli: Cli):
    assert "did you mean 'solve'" in cli("solv").complaint().lower()


def test_an_engine_that_cannot_says_why(cli: Cli):
    complaint = cli("solve", "burgers", "--engine", "fused", "--device", "cpu").complaint()
    assert "engine fused cannot be used: it needs a CUDA device" in complaint
