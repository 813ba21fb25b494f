"""`pinnsig sweep`, `plot SWEEP`, `compare SWEEP`."""

import signal
from pathlib import Path

import pytest

import pinnsig
from pinnsig.run import ending
from pinnsig.run.directory import RunDirectory
from tests.conftest import SMALL, Cli

FLAGS = [text for name, value in SMALL.items() for text in (f"--{name}", value)]


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of scale, depth and initialiser; not to be changed but for its figures."""
    path = tmp_path_factory.mktemp("swept") / "sweep"
    grid = {"scale": "0.5,1", "depth": "1,2", "init": "calibrated,eoc:sigma_b=0"}
    return pinnsig.sweep("burgers", out=path, **{**SMALL, "adam": 1, "lbfgs": 1, **grid}).path


def test_flags_take_several_values(cli: Cli, tmp_path: Path):
    out = tmp_path / "sweep"
    arguments = ["sweep", "burgers", *FLAGS, "--scale", "0.5:1:2", "--out", out,
                 "--init", "calibrated:p=0.4,epsilon=0.1,eoc:sigma_b=0"]  # fmt: skip
    planned = cli(*arguments, "--dry-run", "--json").json()
    assert len(planned["todo"]) == 4
    assert planned["seconds"] > 0
    assert not out.exists()
    found = cli(*arguments, "--json").json()
    assert [(row["scale"], row["init"]) for row in found["rows"]] == [
        (0.5, "calibrated:p=0.4,epsilon=0.1"), (0.5, "eoc:sigma_b=0"),
        (1.0, "calibrated:p=0.4,epsilon=0.1"), (1.0, "eoc:sigma_b=0"),
    ]  # fmt: skip
    assert {row["status"] for row in found["rows"]} == {"done"}
    again = cli(*arguments, "--dry-run")
    assert "4 runs in" in again.out
    assert "0 to be run" in again.out


def test_zip_on_the_command_line(cli: Cli, tmp_path: Path):
    arguments = ["sweep", "burgers", *FLAGS, "--scale", "1,2", "--lr", "1e-3,5e-4", "--seed", "0,1",
                 "--runs", tmp_path, "--dry-run", "--json"]  # fmt: skip
    rows = cli(*arguments, "--zip").json()["rows"]
    assert [(row["scale"], row["lr"], row["seed"]) for row in rows] == [(1, 1e-3, 0), (2, 5e-4, 1)]
    assert len(cli(*arguments, "--zip", "scale,lr").json()["rows"]) == 4


def test_runs_in_batches(cli: Cli, tmp_path: Path):
    arguments = ["sweep", "burgers", *FLAGS, "--seed", "0,1,2", "--batch", "2", "--out", tmp_path]
    planned = cli(*arguments, "--dry-run").out
    assert planned.endswith("one after another, less in batches of 2\n")
    done = cli(*arguments)
    assert done.code == 0
    assert "running 1" in done.err  # beside the one that ended
    assert "done 3/3" in done.err
    path = tmp_path / "grid.toml"
    path.write_text("problem = 'burgers'\n[sweep]\nbatch = 3\n", encoding="utf-8")
    planned = cli("sweep", "--config", path, *FLAGS, "--seed", "0,1", "--dry-run").out
    assert planned.endswith("less in batches of 3\n")


def test_a_failed_run_is_exit_code_1(cli: Cli, tmp_path: Path, heat: Path):
    done = cli("sweep", heat, *FLAGS, "--set", "k=0.1,-1", "--runs", tmp_path)
    assert done.code == 1
    assert "failed: " in done.err
    assert "k = -1" in done.err
    assert "done 1/2" in done.err


def test_a_file_holds_a_sweep_and_flags_beat_it(cli: Cli, tmp_path: Path):
    path = tmp_path / "grid.toml"
    path.write_text(
        "problem = 'burgers'\nscale = '0.5:1:2'\ninit = ['eoc', 'he']\nseed = [0, 1]\n"
        "set = {nu = [0.01, 0.02]}\n"
        + "\n".join(f"{name} = {value}" for name, value in SMALL.items())
        + f"\n[sweep]\nzip = ['scale', 'init']\nout = '{(tmp_path / 'out').as_posix()}'\n",
        encoding="utf-8",
    )
    found = cli("sweep", "--config", path, "--seed", "3", "--dry-run", "--json").json()
    assert [(row["scale"], row["init"], row["set.nu"]) for row in found["rows"]] == [
        (0.5, "eoc", 0.01), (0.5, "eoc", 0.02), (1.0, "he", 0.01), (1.0, "he", 0.02),
    ]  # fmt: skip
    assert {row["seed"] for row in found["rows"]} == {3}
    assert found["path"] == str(tmp_path / "out")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sweep = 3", "must be a table"),
        ("[sweep]\nwrkers = 2", "did you mean workers"),
        ("[sweep]\nworkers = 0", "workers = 0 must be at least 1"),
        ("[sweep]\nbatch = 0", "batch = 0 must be auto, off, or a number"),
        ("[sweep]\nzip = 'scale'", "must be true, or a list of names"),
        ("problem = 'burgers'\nsclae = [1, 2]", "did you mean scale"),
    ],
)
def test_a_file_that_cannot_be_is_refused(cli: Cli, tmp_path: Path, text: str, words: str):
    path = tmp_path / "grid.toml"
    path.write_text(text, encoding="utf-8")
    assert words in cli("sweep", "--config", path).complaint()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sweep"], "name a problem"),
        (["sweep", "burgrs"], "did you mean burgers"),
        (["sweep", "burgers", "--scale", "1,x"], "scale = 'x' is no number"),
        (["sweep", "burgers", "--init", "eoc,clibrated"], "did you mean calibrated"),
        (["sweep", "burgers", "--zip", "--scale", "1,2", "--seed", "1,2,3"], "as many of each"),
        (["sweep", "burgers", "--ray", "--workers", "2"], "give one of --workers and --ray"),
        (["sweep", "burgers", "--ray", "auto", "--ray-cpus", "0"], "--ray-cpus"),
        (["sweep", "burgers", "--ray", "--batch", "3"], "cannot go with --ray"),
        (["sweep", "burgers", "--workers", "2", "--batch", "3"], "cannot go with workers = 2"),
        (["sweep", "burgers", "--batch", "x"], "must be auto, off, or a number"),
        (["sweep", "burgers", "--batch", "0", "--dry-run"], "must be auto, off, or a number"),
        (["compare", "nowhere", "--by", "init"], "nowhere is no sweep directory"),
    ],
)
def test_bad_input_is_one_line(cli: Cli, arguments: list[str], words: str):
    assert words in cli(*arguments).complaint()


def test_plot_draws_a_sweep(cli: Cli, swept: Path):
    names = [Path(line).name for line in cli("plot", swept).out.splitlines()]
    assert names == [
        f"{metric}{suffix}.png"
        for metric in ("best_loss", "relative_l2", "seconds")
        for suffix in ("", "-map")
    ]
    assert all((swept / "figures" / name).stat().st_size > 10_000 for name in names)
    assert "'width' has no several values" in cli("plot", swept, "--x", "width").complaint()


def test_plot_keeps_runs_and_sweeps_apart(cli: Cli, finished: Path):
    assert "belong to sweeps" in cli("plot", finished, "--x", "scale").complaint()


def test_compare_prints_groups_and_tests(cli: Cli, swept: Path):
    found = cli("compare", swept, "--by", "init", "--json").json()
    assert len(found["groups"]) == 8
    assert {group["seeds"] for group in found["groups"]} == {1}
    (test,) = found["tests"]
    assert test["wins"] + test["losses"] + test["ties"] == 4
    assert test["winner"] in (None, test["first"], test["second"])
    printed = cli("compare", swept, "--by", "init", "--metric", "relative_l2", "--per", "scale")
    assert printed.code == 0
    assert "median relative_l2" in printed.out
    assert len(printed.out.splitlines()) == 1 + 8 + 1 + 1 + 2
    assert (
        "known are best_loss" in cli("compare", swept, "--by", "init", "--metric", "x").complaint()
    )


def test_the_dry_run_refuses_what_training_would(cli: Cli, tmp_path: Path):
    arguments = ["sweep", "burgers", "--phase", "ssbroyden:3", "--width", "8,4000", "--depth", "9",
                 "--collocation", "20", "--out", tmp_path / "sweep", "--dry-run"]  # fmt: skip
    found = cli(*arguments)
    assert found.code == 1
    (line,) = found.err.splitlines()
    assert "width=4000" in line
    assert "the inverse Hessian" in line


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_exit_codes_of_a_sweep(cli: Cli, tmp_path: Path, monkeypatch, number: int, code: int):
    judge = ending.judge
    presses = [number]

    def press(*arguments):
        while presses:
            signal.raise_signal(presses.pop())
        return judge(*arguments)

    monkeypatch.setattr(ending, "judge", press)
    arguments = ["sweep", "burgers", *FLAGS, "--seed", "0,1", "--out", tmp_path / "sweep"]
    assert cli(*arguments).code == code
    with RunDirectory(tmp_path / "sweep").locked():
        assert cli(*arguments).code == 2
    assert cli(*arguments).code == 0
    (missing,) = (tmp_path / "sweep").glob("*seed1*")
    (missing / "result.json").unlink()
    with RunDirectory(missing).locked():
        left = cli(*arguments)
    assert left.code == 1
    assert "is left to that one" in left.err


def test_flags_take_the_place_of_what_contradicts_them_in_a_file(cli: Cli, tmp_path: Path):
    config = tmp_path / "sweep.toml"
    config.write_text('problem = "burgers"\nscale = "1,2"\nadam = 3\nlbfgs = 2\n', encoding="utf-8")
    sizes = ["--depth", 2, "--width", 4, "--collocation", 20, "--initial", 4, "--boundary", 4]
    out = ["--out", tmp_path / "out", "--dry-run"]
    found = cli("sweep", "--config", config, "--phase", "adam:2", *sizes, *out)
    assert found.code == 0, found.err
    assert "--phase takes the place of adam = 3, lbfgs = 2" in found.err
    assert "2 to be run" in found.out
