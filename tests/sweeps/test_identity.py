"""A member of a sweep is of the code that it was trained with: other code is another run."""

from pathlib import Path

import pytest

import pinnsig
from pinnsig.problem import Box, Dirichlet, Problem
from pinnsig.run.directory import RunDirectory
from pinnsig.sweeps import InProcess, SweepDirectory, SweepWatcher, make_grid, run_planned
from tests.conftest import SMALL, Cli

FLAGS = [text for name, value in SMALL.items() for text in (f"--{name}", value)]


class Seen(SweepWatcher):
    def __init__(self) -> None:
        self.begun: list[str] = []
        self.told: list[str] = []

    def started(self, name, where):
        self.begun.append(name)

    def noticed(self, text):
        self.told.append(text)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def repeat(problem, out: Path, **more):
    seen = Seen()
    table = pinnsig.sweep(problem, out=out, watcher=seen, **{**SMALL, "seed": [0, 1], **more})
    return table, seen


def test_an_edited_file_is_trained_anew(heat: Path, tmp_path: Path):
    out = tmp_path / "sweep"
    first, _ = repeat(heat, out)
    assert repeat(heat, out)[1].begun == []
    edit(heat, "u.t - ", "u.t - 2 * ")
    second, seen = repeat(heat, out)
    assert seen.begun == first.column("run")
    (notice,) = seen.told
    assert "changed since 2 of these runs were trained" in notice
    assert second.values("status") == ["done"]
    assert len(second) == 2
    assert second.column("best_loss") != first.column("best_loss")
    kept = [RunDirectory(p).read_json("result.json") for p in (out / "earlier").iterdir()]
    assert {r["best_loss"] for r in kept} == set(first.column("best_loss"))
    third, seen = repeat(heat, out)
    assert seen.begun == seen.told == []
    assert third.rows == second.rows


def test_more_values_after_an_edit(heat: Path, tmp_path: Path):
    repeat(heat, tmp_path / "sweep")
    edit(heat, "u.t - ", "u.t - 2 * ")
    more, seen = repeat(heat, tmp_path / "sweep", seed=[2])
    assert sorted(seen.begun) == sorted(more.column("run"))
    assert len(more) == 3


@pytest.mark.parametrize("name", ["neighbour.py", "data.csv"])
def test_neighbours_and_data_count(heat: Path, tmp_path: Path, name: str):
    (heat.parent / "neighbour.py").write_text("K = 1.0\n", encoding="utf-8")
    (heat.parent / "data.csv").write_text("1.0\n", encoding="utf-8")
    reads = "import numpy, pathlib\n"
    edit(heat, "import math\n", f"import math\n{reads}")
    data = "numpy.loadtxt(pathlib.Path(__file__).parent / 'data.csv')"
    edit(
        heat,
        "        yield Initial",
        f"        import neighbour\n        one = float({data})\n        yield Initial",
    )
    first, _ = repeat(heat, tmp_path / "sweep")
    edit(heat.parent / name, "1.0", "2.0")
    second, seen = repeat(heat, tmp_path / "sweep")
    assert seen.begun == first.column("run")
    assert repeat(heat, tmp_path / "sweep")[1].begun == []
    assert second.values("status") == ["done"]


def test_a_dry_run_says_so_and_moves_nothing(heat: Path, tmp_path: Path, cli: Cli):
    command = ["sweep", heat, *FLAGS, "--out", tmp_path / "sweep", "--seed", "0,1"]
    assert cli(*command).code == 0
    edit(heat, "u.t - ", "u.t - 2 * ")
    planned = cli(*command, "--dry-run")
    assert "2 to be run" in planned.out
    assert "notice:" in planned.err
    assert not (tmp_path / "sweep" / "earlier").exists()
    edit(heat, "u.t - 2 * ", "u.t - ")
    assert "0 to be run" in cli(*command, "--dry-run").out


def test_grids_alone(heat: Path, tmp_path: Path):
    out = tmp_path / "sweep"
    grids = [make_grid({**SMALL, "problem": str(heat), "seed": [seed]}) for seed in (0, 1)]
    first = run_planned(SweepDirectory.of(grids, out), InProcess())
    assert first.column("status") == ["done", "done"]
    assert SweepDirectory.of(grids, out).left(1) == []
    edit(heat, "u.t - ", "u.t - 2 * ")
    directory = SweepDirectory.of(grids[1:], out)
    assert directory.changed == {str(heat)}
    second = run_planned(directory, InProcess())
    assert second.column("run") == first.column("run")[1:]
    assert second[0]["best_loss"] != first[1]["best_loss"]
    assert len(list((out / "earlier").iterdir())) == 1
    assert (out / first[0]["run"] / "result.json").is_file()  # it was not asked for


def test_an_interrupted_run_of_other_code_is_not_gone_on_with(heat: Path, tmp_path: Path):
    out = tmp_path / "sweep"
    first, _ = repeat(heat, out, keep_checkpoints=True)
    for row in first:
        (out / row["run"] / "result.json").unlink()
    edit(heat, "u.t - ", "u.t - 2 * ")
    table, seen = repeat(heat, out)
    assert len(seen.told) == 1
    runs = [RunDirectory(out / name).read_json("result.json") for name in table.column("run")]
    assert [run["resumed"] for run in runs] == [0, 0]


def test_failures_of_other_code_are_forgotten(heat: Path, tmp_path: Path):
    edit(heat, "u.t -", "1/0 + u.t -")
    for _ in range(2):
        repeat(heat, tmp_path / "sweep")
    table, _ = repeat(heat, tmp_path / "sweep")
    assert table.column("attempts") == [2, 2]
    edit(heat, "1/0 + u.t -", "1/0 + 2 * u.t -")
    table, seen = repeat(heat, tmp_path / "sweep")
    assert len(seen.begun) == 2
    assert table.column("attempts") == [1, 1]


def made(value: float) -> type[Problem]:
    """A class whose name says nothing of its value."""

    class Plate(Problem):
        domain = Box(x=(0.0, 1.0))

        def residual(self, u):
            return u.xx - value

        def conditions(self):
            yield Dirichlet(on="x", u=0.0)

    return Plate


def test_two_classes_of_one_name_are_two(tmp_path: Path):
    out = tmp_path / "sweep"
    first, _ = repeat(made(1.0), out)
    second, seen = repeat(made(2.0), out)
    assert seen.begun == first.column("run")
    assert "Plate changed since 2" in seen.told[0]
    assert second.column("best_loss") != first.column("best_loss")
    assert repeat(made(2.0), out)[1].begun == []
    one, two = (pinnsig.sweep(made(v), runs=tmp_path, **SMALL) for v in (1.0, 2.0))
    assert one.path != two.path


def test_another_class_leaves_its_members_alone(tmp_path: Path):
    class Other(made(3.0)):
        pass

    out = tmp_path / "sweep"
    first, _ = repeat(made(1.0), out, seed=[0, 1])
    (out / first[1]["run"] / "result.json").unlink()
    table, seen = repeat(Other, out)
    assert len(seen.begun) == 2
    assert "the members of Plate are left as they are" in seen.told[0]
    assert sorted(table.column("status")) == ["done", "done", "done", "interrupted"]


def test_workers_train_what_was_planned(heat: Path, tmp_path: Path):
    """A file that is edited while its sweep runs is not trained with under the old name."""
    marker = tmp_path / "begun"
    edit(heat, "    def residual", "    def __init__(self, **settings):\n        import pathlib\n"
         f"        pathlib.Path({str(marker)!r}).touch()\n        super().__init__(**settings)\n"
         "    def residual")  # fmt: skip

    class Edit(Seen):
        def ended(self, row, again):
            if heat.read_text(encoding="utf-8")[-1] != "#":
                heat.write_text(heat.read_text(encoding="utf-8") + "#", encoding="utf-8")

    table = pinnsig.sweep(heat, out=tmp_path / "sweep", seed=[0, 1], watcher=Edit(), **SMALL)
    assert table.column("status") == ["done", "failed"]
    assert "is not what it was" in table[1]["reason"]
