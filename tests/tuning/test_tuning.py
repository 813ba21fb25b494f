"""A search: asked and told, resumed, pruned, and refused where it cannot be."""

import csv
import signal
from pathlib import Path
from typing import Any

import pytest

import pinnsig
from pinnsig.core.errors import RunError, SettingsError
from pinnsig.run.directory import RunDirectory
from pinnsig.sweeps import Batched, InProcess, SweepDirectory
from pinnsig.sweeps.tasks import Ended, Started
from pinnsig.training import FINISHED, NON_FINITE
from pinnsig.tuning import OBJECTIVES, TuningWatcher
from pinnsig.tuning.objectives import value_of
from pinnsig.tuning.tuning import read_tuned
from tests.conftest import SMALL, Cli

pytest.importorskip("optuna", reason="needs Optuna: pip install 'pinnsig[tune]'")

SEARCH = {"lr": "1e-4:1e-2:log", "depth": "1:3", "act": "tanh,erf"}
FLAGS: dict[str, Any] = {k: v for k, v in SMALL.items() if k != "depth"} | {"pruner": "none"}


def settings(found: pinnsig.Tuned) -> list[dict[str, Any]]:
    return [trial.settings for trial in found.trials]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> pinnsig.Tuned:
    out = tmp_path_factory.mktemp("whole") / "search"
    return pinnsig.tune("heat", SEARCH, trials=3, out=out, **FLAGS)


def test_trials_are_runs_and_the_best_is_the_smallest(whole: pinnsig.Tuned):
    assert [trial.state for trial in whole.trials] == ["done"] * 3
    for trial in whole.trials:
        result = RunDirectory(whole.path / trial.run).read_json("result.json")
        terms = result["independent"]["terms"].values()
        assert trial.value == pytest.approx(sum(term["mean_square"] for term in terms))
        config = RunDirectory(whole.path / trial.run).read_json("config.json")
        assert {name: config[name] for name in SEARCH} == trial.settings
        assert 1e-4 <= config["lr"] <= 1e-2
    assert whole.best is not None
    assert whole.best.value == min(trial.value for trial in whole.trials if trial.value)
    with (whole.path / "tune.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["trial"]) for row in rows] == [trial.number for trial in whole.ranked]
    assert (whole.path / "tune.png").stat().st_size > 10_000


def test_its_directory_is_that_of_a_sweep(whole: pinnsig.Tuned, cli: Cli):
    table = SweepDirectory.open(whole.path).table()
    assert table.values("status") == ["done"]
    assert set(SEARCH) <= set(table.settings)
    assert cli("show", whole.path).code == 0


def test_the_best_command_gives_the_best_run(whole: pinnsig.Tuned, cli: Cli, tmp_path: Path):
    import shlex

    words = shlex.split(whole.command)
    assert words[:5] == ["python", "-m", "pinnsig", "solve", "heat"]
    found = cli(*words[3:], "--runs", tmp_path, "--no-figures", "--json").json()
    assert whole.best is not None
    assert OBJECTIVES["residual"](found) == whole.best.value


def test_the_same_seed_asks_for_the_same_trials_however_often_it_is_resumed(
    whole: pinnsig.Tuned, tmp_path: Path
):
    for trials in (1, 3):
        found = pinnsig.tune("heat", SEARCH, trials=trials, out=tmp_path / "s", **FLAGS)
        assert settings(found) == settings(whole)[:trials]
    assert [t.value for t in found.trials] == [t.value for t in whole.trials]
    other = pinnsig.tune("heat", SEARCH, trials=1, seed=1, out=tmp_path / "o", **FLAGS)
    assert settings(other)[0] not in settings(whole)
    assert [vars(t) for t in read_tuned(tmp_path / "s").trials] == [vars(t) for t in found.trials]


class Dying(InProcess):
    """Its process dies in place of the second task, once; or a signal comes then."""

    def __init__(self, interrupt: bool = False) -> None:
        self.died, self.begun, self.interrupt = False, 0, interrupt

    def run(self, tasks, tell):
        for task in tasks:
            self.begun += 1
            if self.begun == 2 and not self.died:
                self.died = True
                yield Started(task.name)
                if self.interrupt:
                    tell(signal.SIGTERM)
                    yield Ended(task.name, interrupted=True)
                    return
                yield Ended(task.name, "its process ended by signal 9", killed=True)
            else:
                yield from super().run([task], tell)


def test_a_trial_whose_process_died_is_run_again(whole: pinnsig.Tuned, tmp_path: Path):
    found = pinnsig.tune("heat", SEARCH, trials=2, out=tmp_path / "s", executor=Dying(), **FLAGS)
    assert [trial.state for trial in found.trials] == ["done"] * 2
    assert settings(found) == settings(whole)[:2]


def test_interrupted_it_goes_on_with_the_trial_that_ran(whole: pinnsig.Tuned, tmp_path: Path):
    first = pinnsig.tune(
        "heat", SEARCH, trials=3, out=tmp_path / "s", executor=Dying(interrupt=True), **FLAGS
    )
    assert first.interrupted
    assert [trial.state for trial in first.trials] == ["done", "running"]
    second = pinnsig.tune("heat", SEARCH, trials=3, out=tmp_path / "s", **FLAGS)
    assert settings(second) == settings(whole)
    assert [t.value for t in second.trials] == [t.value for t in whole.trials]


def test_what_falls_behind_is_ended(tmp_path: Path):
    """Six of one setting that learns; after them another that cannot learn is pruned."""
    rates = {"lr": [1e-2, 1e-12]}
    flags = {**SMALL, "adam": 40, "lbfgs": 0, "prune_every": 10}
    found = pinnsig.tune("heat", {**rates, "seed": "0:9"}, trials=9, out=tmp_path / "s", **flags)
    states = {rate: {t.state for t in found.trials if t.settings["lr"] == rate} for rate in
              rates["lr"]}  # fmt: skip
    assert "pruned" in states[1e-12]
    pruned = next(t for t in found.trials if t.state == "pruned")
    result = RunDirectory(found.path / pruned.run).read_json("result.json")
    assert result["stop"] == "pruned"
    assert result["iterations"] < 40
    assert result["iterations"] % 10 == 0


def test_a_failed_trial_is_none_of_the_best(tmp_path: Path):
    """fourier wants at least one feature: some of the choices fail when they are built."""
    told: list[str | None] = []

    class Listening(TuningWatcher):
        def ended(self, trial, found, reason):
            told.append(reason)

    search = {"network": ["ffnn", "fourier:features=0"], "seed": "0:3"}
    found = pinnsig.tune("heat", search, trials=5, out=tmp_path / "s", watcher=Listening(),
                         **{**SMALL, "pruner": "none"})  # fmt: skip
    states = {t.settings["network"]: t.state for t in found.trials}
    assert states == {"ffnn": "done", "fourier:features=0": "failed"}
    assert any(reason and "features" in reason for reason in told)


def test_refused_before_anything_is_written(tmp_path: Path, cli: Cli, heat: Path):
    out = tmp_path / "s"

    def refuse(said: str, *arguments: Any) -> None:
        assert said in cli("tune", *arguments, "--out", out).complaint()
        assert not out.exists()

    refuse("nothing to search", "heat")
    refuse("depth is searched, and given", "heat", "--search", "depth=1:3", "--depth", "2")
    refuse("did you mean residual?", "heat", "--search", "depth=1:3", "--objective", "residul")
    refuse("did you mean median?", "heat", "--search", "depth=1:3", "--pruner", "medin")
    refuse("did you mean heat", "haet", "--search", "depth=1:3")
    refuse("is not NAME=VALUES", "heat", "--search", "depth")
    refuse("given twice", "heat", "--search", "depth=1:3", "--search", "depth=2:3")
    refuse("--search-seed", "heat", "--search", "depth=1:3", "--seed", "1")
    refuse("trials = 0", "heat", "--search", "depth=1:3", "--trials", "0")
    refuse("give one of", "heat", "--search", "depth=1:3", "--ray", "--workers", "2")
    refuse("tahn", "heat", "--search", "act=tanh,tahn")
    text = heat.read_text().partition("    def solution")[0]
    heat.write_text(text)
    refuse("has no solution", heat, "--search", "depth=1:3", "--objective", "error")


def test_another_search_in_the_same_place_is_refused(whole: pinnsig.Tuned):
    with pytest.raises(RunError, match=r"holds another search \(other objective\)"):
        pinnsig.tune("heat", SEARCH, out=whole.path, objective="loss", **FLAGS)
    with pytest.raises(SettingsError, match="prune_every = 0"):
        pinnsig.tune("heat", SEARCH, out=whole.path, prune_every=0, **FLAGS)


def test_on_the_command_line(cli: Cli, tmp_path: Path, whole: pinnsig.Tuned):
    flags = [f"--{name}={value}" for name, value in FLAGS.items()]
    search = [f"--search={name}={values}" for name, values in SEARCH.items()]
    dry = cli("tune", "heat", *search, *flags, "--out", tmp_path / "s", "--dry-run")
    assert "0.0001:0.01:log" in dry.out
    assert not (tmp_path / "s").exists()
    shown = cli("tune", "heat", *search, *flags, "--trials", 3, "--out", whole.path)
    assert shown.code == 0
    assert f"best: {whole.command}\n" in shown.out
    assert "going on: 3 of 3 trials are there" in shown.err


def test_nothing_is_tried_twice_and_the_search_says_when_all_is(tmp_path: Path):
    """Also where trials run together, in which a second one of a run would find it busy."""

    class Heard(TuningWatcher):
        def __init__(self) -> None:
            self.said: list[str] = []

        def noticed(self, text):
            self.said.append(text)

    heard = Heard()
    found = pinnsig.tune(
        "heat", {"act": "tanh,erf,softsign2"}, trials=6, out=tmp_path / "s", watcher=heard,
        executor=Batched(2), **{**FLAGS, "depth": 1},
    )  # fmt: skip
    assert sorted(t.settings["act"] for t in found.trials) == ["erf", "softsign2", "tanh"]
    assert [trial.state for trial in found.trials] == ["done"] * 3
    assert heard.said[-1] == "nothing new was found to try after 3 trials"


@pytest.mark.parametrize("name", ["loss", "error"])
def test_a_run_that_came_to_no_finite_end_has_no_objective(name: str):
    result = {"best_loss": 0.5, "relative_l2": 0.5, "stop": FINISHED}
    assert value_of(name, result) == 0.5
    assert value_of(name, {**result, "stop": NON_FINITE}) is None


@pytest.mark.parametrize(
    ("search", "given", "said"),
    [
        ({"set.mu": "0.1:1"}, {}, "mu"),
        ({"weight.residul": "0.1:1"}, {}, "residul"),
        ({"lr": "1e-3:1e-2"}, {"set": {"mu": 1.0}}, "mu"),
        ({"k": "0.1:1"}, {}, "did you mean set.k"),
        ({"lr": "1e-3:1e-2"}, {"slabs": 2}, "take error or loss"),
        ({"slabs": "1,2"}, {}, "take error or loss"),
    ],
)
def test_what_no_trial_could_be_trained_with_is_refused(tmp_path: Path, search, given, said):
    with pytest.raises(pinnsig.PinnsigError, match=said):
        pinnsig.tune("heat", search, trials=2, runs=tmp_path, **{**FLAGS, **given})
    assert list(tmp_path.iterdir()) == []


def test_trials_of_other_code_are_not_compared_with(tmp_path: Path, heat: Path):
    flags = {**FLAGS, "depth": 1, "out": tmp_path / "s"}
    pinnsig.tune(heat, {"lr": "1e-3:1e-2"}, trials=1, **flags)
    heat.write_text(heat.read_text().replace("self.k * u.xx", "2 * self.k * u.xx"))
    with pytest.raises(RunError, match="changed since the trials"):
        pinnsig.tune(heat, {"lr": "1e-3:1e-2"}, trials=2, **flags)
