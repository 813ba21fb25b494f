"""Running a table: what it leaves, that it goes on, and that failures stay in it."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from pinnsig.core.errors import ProblemError, SettingsError
from pinnsig.run.directory import RunDirectory
from pinnsig.run.loading import load
from pinnsig.sweeps import SweepWatcher
from pinnsig.table import (
    ENTRIES,
    ROOT,
    Budget,
    Entry,
    Line,
    Measure,
    Published,
    read_tables,
    run_table,
)
from pinnsig.table.running import built_in_problems
from tests.conftest import SMALL, strict_json
from tests.table.conftest import BUDGET


class Log(SweepWatcher):
    """Keeps what it sees; the process ends after so many runs."""

    def __init__(self, ends_after: int | None = None) -> None:
        self.order: list[str] = []
        self.ends_after = ends_after
        self.heard: list[object] = []

    def planned(self, table, todo, workers):
        self.heard += [len(todo), workers]

    def started(self, name, where):
        self.order.append(name)
        assert torch.get_num_threads() == 1

    def ended(self, row, again):
        if len(self.order) == self.ends_after:
            raise SystemExit

    def noticed(self, text):
        self.heard.append(text)

    def interrupting(self, number):
        self.heard.append(number)


def test_what_is_left_on_disk(two: list[str], tmp_path: Path):
    log = Log()
    torch.set_num_threads(2)
    table = run_table(BUDGET, out=tmp_path, watcher=log)
    assert torch.get_num_threads() == 2
    # one seed of all problems before the next
    assert [name.split("-seed")[0].split("-tanh")[0] for name in log.order] == two * 2
    folder = tmp_path / "quick-60s-2-seeds"
    assert {path.name for path in folder.iterdir()} == {
        "heat.json", "inverse-heat.json", "README.md", "table.png",
    }  # fmt: skip
    assert table.path == tmp_path / "sweeps" / "table-quick-60s"
    assert (folder / "table.png").read_bytes().startswith(b"\x89PNG")
    record = strict_json((folder / "inverse-heat.json").read_text())
    assert (record["network"], record["weights"]) == ("ffnn 2 x 8", 8 * 3 + 8 * 9 + 9 + 1)
    assert record["budget"] == BUDGET.as_dict()
    (run,) = [run for run in record["runs"] if run["seed"] == 1]
    (row,) = table.where(problem="inverse-heat", seed=1)
    result = RunDirectory.open(table.path / row["run"]).read_json("result.json")
    assert run["fields"]["u"] == pytest.approx(result["relative_l2"], rel=1e-5)
    assert run["coefficients"]["k"]["true"] == 0.2
    assert run["iterations"] == {"adam": 2, "lbfgs": 3}
    assert run["environment"]["cores"] >= 1
    assert run["environment"]["threads"] == 1
    assert run["environment"]["versions"]["torch"] == torch.__version__
    assert run["finished"][:2] == "20"
    assert len((folder / "heat.json").read_text()) < 6000


def test_an_error_is_measured_as_a_published_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    published = Published(1.0, "a method", measure=Measure(("u",), {"t": 0.5}))
    scaling = {"outputs": {"u": [0.5, 2.0]}, "terms": {}}
    monkeypatch.setitem(ENTRIES, "heat", Entry(published, {**SMALL, "scaling": scaling}))
    table = run_table(Budget("quick", 60.0, 1), ["heat"], tmp_path)
    (record,) = read_tables(tmp_path)[Budget("quick", 60.0, 1)]
    (row,) = table
    trained, x = load(table.path / row["run"]), np.linspace(0.0, 1.0, 4001)
    assert trained.settings.scaling == scaling
    u = trained.predict(x=x, t=0.5)["u"]
    true = np.exp(-0.1 * np.pi**2 * 0.5) * np.sin(np.pi * x)
    expected = np.linalg.norm(u - true) / np.linalg.norm(true)
    assert record["runs"][0]["measured"] == pytest.approx(expected, rel=2e-2)


def test_unknown_functions_count_as_fields_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setitem(ENTRIES, "inverse-source", Entry(settings=SMALL))
    run_table(Budget("quick", 60.0, 1), ["inverse-source"], tmp_path)
    record = strict_json((tmp_path / "quick-60s-1-seed" / "inverse-source.json").read_text())
    (run,) = record["runs"]
    assert set(run["fields"]) == {"u", "f"}
    assert run["fields"]["f"] > 0.01  # which nine iterations do not find


def test_a_killed_table_goes_on(two: list[str], tmp_path: Path):
    with pytest.raises(SystemExit):
        run_table(BUDGET, ["heat"], tmp_path, watcher=Log(ends_after=1))
    folder = tmp_path / BUDGET.name
    assert "heat" in (folder / "README.md").read_text()  # what is known is written down
    record = json.loads((folder / "heat.json").read_text())
    assert [run["status"] for run in record["runs"]] == ["done", "missing"]
    log = Log()
    assert len(run_table(BUDGET, ["heat"], tmp_path, watcher=log).done) == 2
    assert len(log.order) == 1
    again = Log()
    run_table(BUDGET, ["heat"], tmp_path, watcher=again)
    assert again.order == []


def test_runs_are_shared_by_numbers_of_seeds_and_records_are_not(two: list[str], tmp_path: Path):
    few = Budget("quick", 60.0, 1)
    run_table(few, ["heat"], tmp_path)
    log = Log()
    run_table(BUDGET, ["heat"], tmp_path, watcher=log)
    assert len(log.order) == 1
    tables = read_tables(tmp_path)
    assert {budget: len(records[0]["runs"]) for budget, records in tables.items()} == {
        few: 1, BUDGET: 2,
    }  # fmt: skip
    assert [record["problem"] for record in tables[BUDGET]] == ["heat"]
    text = (tmp_path / BUDGET.name / "README.md").read_text()
    assert "1 of 2 problems" in text
    assert "Not run: inverse-heat." in text


def test_failures_stay_in_the_table(two: list[str], tmp_path: Path, monkeypatch):
    budget = Budget("quick", 60.0, 1)
    monkeypatch.setitem(ENTRIES, "heat", Entry(settings={**SMALL, "act": "sigmoid"}))
    table = run_table(budget, out=tmp_path)
    assert len(table.done) == 1
    heat, inverse = map(Line.of, read_tables(tmp_path)[budget])
    assert heat.errors() == [float("inf")]
    assert len(inverse.errors()) == 1
    text = (tmp_path / budget.name / "README.md").read_text()
    assert "| heat | **1 of 1 failed** | - | - | - | - |" in text
    (note,) = [line for line in text.splitlines() if line.startswith("- heat, seed 0 failed: ")]
    assert "sigmoid" in note
    # settings that are mended are another run, and the old one is not tried again
    monkeypatch.setitem(ENTRIES, "heat", Entry(settings=SMALL))
    log = Log()
    assert len(run_table(budget, out=tmp_path, watcher=log).done) == 2
    assert len(log.order) == 1
    assert "failed:" not in (tmp_path / budget.name / "README.md").read_text()


def test_what_cannot_be(two: list[str], tmp_path: Path):
    with pytest.raises(ProblemError, match="unknown: did you mean heat"):
        run_table(BUDGET, ["haet"], tmp_path)
    with pytest.raises(SettingsError, match="workers = 0"):
        run_table(BUDGET, out=tmp_path, workers=0)
    assert not any(tmp_path.iterdir())


def test_the_list_is_what_comes_with_the_package():
    names = built_in_problems()
    assert {"burgers", "kdv", "inverse-heat"} <= set(names)
    assert set(ENTRIES) <= set(names)
    assert Path("runs/table") == ROOT
