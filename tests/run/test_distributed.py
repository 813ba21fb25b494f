"""One run over several processes gives the numbers of one process."""

import os
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

import pinnsig
from pinnsig.core.errors import PinnsigError, RankError, SettingsError, TrainingError
from pinnsig.core.ranks import Ranks
from pinnsig.objective import Objective, Weights
from pinnsig.objective.distributed import (
    DealtObjective,
    DealtRows,
    deal,
    least_squares,
    mean_row_squares,
)
from pinnsig.objective.rows import LeastSquares
from pinnsig.optim import drive
from pinnsig.optim.gauss_newton.linearization import HeldLinearization
from pinnsig.run.building import build, build_objective, run_sites
from pinnsig.run.callbacks import Callback
from pinnsig.run.directory import RunDirectory
from pinnsig.run.following import OwnParts, lead
from pinnsig.run.processes import begun_by
from pinnsig.run.running import Options
from pinnsig.run.settings import resolve
from pinnsig.run.solver import solving
from pinnsig.run.state import run_state
from pinnsig.training import Record, evaluate_alone
from pinnsig.training.shared_jacobian import SharedJacobian
from tests.conftest import Cli
from tests.run.followers import SIZES, end, fail, followers, lead_all

SMALL = {
    "depth": 2, "width": 6, "collocation": 41, "initial": 2, "boundary": 8, "dtype": "float64",
    "device": "cpu", "seed": 3,
}  # fmt: skip


@pytest.fixture(scope="module")
def groups() -> Iterator[dict[int, Ranks]]:
    with followers() as store:
        found = lead_all(store)
        yield found
        for ranks in found.values():
            end(ranks)


@pytest.fixture(scope="module", params=SIZES)
def ranks(request: pytest.FixtureRequest, groups: dict[int, Ranks]) -> Ranks:
    return groups[request.param]


@dataclass
class Pair:
    """The same loss over several processes and in one."""

    dealt: Objective
    whole: Objective


def pair(ranks: Ranks, problem: str) -> Pair:
    settings = resolve({**SMALL, "problem": problem})
    parts = build(settings)
    lead(ranks, parts, OwnParts())
    dealt = build_objective(parts, ranks=ranks)
    assert isinstance(dealt, DealtObjective)
    return Pair(dealt, build_objective(build(settings)))


# periodic conditions (pairs of points), two points for three processes, learned coefficients
@pytest.fixture(params=["schrodinger", "inverse-heat"])
def both(request: pytest.FixtureRequest, ranks: Ranks) -> Pair:
    return pair(ranks, request.param)


def alike(a: Any, b: Any) -> None:
    torch.testing.assert_close(torch.as_tensor(a), torch.as_tensor(b), rtol=1e-12, atol=1e-12)


def test_loss_and_gradient(both: Pair) -> None:
    found, expected = both.dealt.evaluate(), both.whole.evaluate()
    alike(found.loss, expected.loss)
    alike(found.terms, expected.terms)
    gradient = both.dealt.flat.gradient.clone()
    alike(gradient, both.whole.flat.gradient)
    assert torch.equal(both.dealt.evaluate().loss, found.loss)  # bit for bit
    assert torch.equal(both.dealt.flat.gradient, gradient)
    alike(both.dealt.losses().terms, expected.terms)
    alike(both.dealt.term_gradients(), both.whole.term_gradients())
    assert both.dealt.non_finite_terms() == []


def test_each_process_has_its_own_points(both: Pair) -> None:
    dealt = both.dealt
    assert isinstance(dealt, DealtObjective)
    size = dealt.ranks.size
    assert len(dealt.interior) == len(dealt.collocation) // size
    counts = [sum(s.stop - s.start for s in spans.values()) for spans in dealt.spans]
    assert sum(counts) == sum(len(own.points) for own in dealt.sites.values())
    assert dealt.rows == both.whole.rows


def test_weights_of_points_and_sizes_of_residuals(both: Pair) -> None:
    points = torch.linspace(0.5, 1.5, len(both.whole.collocation), dtype=torch.float64)
    own = Weights(2 * both.whole.weights.terms, points)
    found, expected = both.dealt.evaluate(own), both.whole.evaluate(own)
    alike(found.loss, expected.loss)
    alike(both.dealt.flat.gradient, both.whole.flat.gradient)
    assert found.sizes is not None
    alike(found.sizes, expected.sizes)
    places = both.whole.collocation[:17]
    alike(both.dealt.residual_sizes(places), both.whole.residual_sizes(places))


def test_rows_stay_where_they_are(both: Pair) -> None:
    dealt, whole = least_squares(both.dealt), LeastSquares(both.whole)
    r = whole.residuals()
    assert dealt.count == whole.count
    alike(dealt.residuals(), r)
    u = torch.cos(torch.arange(len(r), dtype=torch.float64))
    alike(dealt.pullback(u), whole.pullback(u))
    alike(mean_row_squares(both.dealt, 64, 10**6), mean_row_squares(both.whole, 64, 10**6))


def test_other_points_and_another_precision(ranks: Ranks) -> None:
    both = pair(ranks, "heat")
    sites = {name: own for name, own in both.whole.sites.items()}
    fewer = {name: type(own)(own.points[: len(own.points) // 2], {}) for name, own in sites.items()}
    changes: list[dict[str, Any]] = [
        {"sites": fewer},
        {"dtype": torch.float32},
        {"dtype": torch.float64},
    ]
    for change in changes:
        dealt, whole = both.dealt.rebuild(**change), both.whole.rebuild(**change)
        both = Pair(dealt, whole)
        near = 1e-5 if dealt.flat.values.dtype == torch.float32 else 1e-12
        assert float(dealt.evaluate().loss) == pytest.approx(float(whole.evaluate().loss), rel=near)
    alone = both.dealt.alone()
    assert not isinstance(alone, DealtObjective)
    alike(alone.losses().loss, both.whole.losses().loss)


def test_a_fault_names_its_process_and_leaves_the_others_ready(both: Pair) -> None:
    dealt = both.dealt
    assert isinstance(dealt, DealtObjective)
    with pytest.raises(TrainingError, match=r"ValueError: no such number \(rank 1\)"):
        list(dealt.ask(fail, 1))
    with pytest.raises(ValueError, match=r"^no such number$"):
        list(dealt.ask(fail, 0))
    assert [int(part) for (part,) in dealt.ask(fail, -1)] == list(range(dealt.ranks.size))


@pytest.mark.parametrize("held", [True, False], ids=["held", "streamed"])
def test_products_with_the_jacobian(both: Pair, held: bool) -> None:
    rows, whole = least_squares(both.dealt), LeastSquares(both.whole)
    assert isinstance(rows, DealtRows)
    shared = SharedJacobian(rows).linearization(held, block=7, group=5)
    size = len(both.whole.flat)
    empty = torch.empty(whole.count, size, dtype=torch.float64)
    one = HeldLinearization(whole, empty, empty.clone())
    alike(shared.residual, one.residual)
    u, v = torch.cos(torch.arange(float(whole.count))), torch.sin(torch.arange(float(size)))
    alike(shared.pullback(u.double()), one.pullback(u.double()))
    alike(shared.push(v.double()), one.push(v.double()))
    alike(shared.gram().tril(), one.gram().tril())
    alike(shared.kernel().tril(), one.kernel().tril())


TRAININGS = {
    "points drawn by the residual, weights by gradients": {
        "phases": ["adam:6,points=rad,every=3,lr=1e-2", "lbfgs:4", "ssbroyden:3"],
        "weighting": "gradient-norm",
    },
    "batches": {"phases": ["adam:5,batch=9,lr=1e-2", "lbfgs:3"]},
    "batches drawn anew": {"phases": ["adam:5,batch=50,lr=1e-2,points=fresh"]},
    "levenberg-marquardt, primal": {"phases": ["lm:3"], "collocation": 120},
    "levenberg-marquardt, dual": {"phases": ["lm:3,momentum=0.9"], "width": 12},
    "weights of points in time": {
        "phases": ["adam:5,points=rar-d,lr=1e-2", "gncg:1,rank=4,products=4"],
        "causal": True,
        "weighting": "start-trace",
    },
}


@pytest.mark.parametrize("settings", TRAININGS.values(), ids=TRAININGS)
def test_a_whole_run(ranks: Ranks, settings: dict[str, Any], tmp_path: Path) -> None:
    given = {**SMALL, **settings, "set": {"k": 0.2}}
    runs = [
        drive(
            solving(
                "heat", path=tmp_path / str(own.size), options=Options(False, ranks=own), **given
            ),
            evaluate_alone,
        )
        for own in (ranks, Ranks())
    ]
    several, one = (run.data for run in runs)
    assert several["best_loss"] == pytest.approx(one["best_loss"], rel=1e-6)
    assert several["evaluations"] == one["evaluations"]
    assert several["relative_l2"] == pytest.approx(one["relative_l2"], rel=1e-6)


def test_too_few_points_to_share() -> None:
    settings = resolve({**SMALL, "problem": "heat", "collocation": 2})
    parts = build(settings)
    sites = run_sites(settings, parts.problem)
    with pytest.raises(SettingsError, match="2 collocation points are too few for 3 processes"):
        deal(parts.problem, sites, 3)


# --- runs that start their processes --------------------------------------------------------------


class At(Callback):
    """Does something once, after an iteration."""

    def __init__(self, step: int, act: Any) -> None:
        self.step, self.act = step, act

    def recorded(self, record: Record) -> None:
        """See `Callback.recorded`."""
        if record.step == self.step:
            self.act()


def kill_a_follower() -> None:
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    for child in map(int, children.read_text().split()):
        if b"pinnsig.run.following" in Path(f"/proc/{child}/cmdline").read_bytes():
            os.kill(child, signal.SIGKILL)


PHASES = ["adam:6,lr=1e-2", "lbfgs:8"]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("whole") / "run"
    return pinnsig.solve("heat", path=path, figures=False, phases=PHASES, **SMALL).data


def check_kill(step: int, path: Path, uninterrupted: dict[str, Any]) -> None:
    """Kill a process after an iteration; go on in one process from where that was."""
    act = At(step, kill_a_follower)
    with pytest.raises(TrainingError, match=r"a process of this run ended \(rank 1\)") as told:
        pinnsig.solve(
            "heat", path=path, figures=False, phases=PHASES, devices=2, callbacks=[act], **SMALL
        )
    assert told.value.path == path
    assert run_state(path).name == "failed"
    notices: list[str] = []
    told_of = Callback()
    told_of.noticed = notices.append  # type: ignore[method-assign]
    told_of.started = lambda parts, path: notices.extend(parts.notices)  # type: ignore[method-assign]
    result = pinnsig.resume(path, figures=False, callbacks=[told_of]).data
    assert result["iterations"] == uninterrupted["iterations"]
    assert result["best_loss"] == pytest.approx(uninterrupted["best_loss"], rel=1e-8)
    assert any("the run had 2 processes and now has 1" in notice for notice in notices)


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="children are found by /proc"
)


@needs_proc
def test_a_process_that_is_killed_ends_the_run_which_goes_on_in_one(
    tmp_path: Path, uninterrupted: dict[str, Any]
) -> None:
    check_kill(9, tmp_path / "run", uninterrupted)


@needs_proc
@pytest.mark.slow
@pytest.mark.parametrize("step", [0, 1, 2, 4, 5, 6, 7, 8, 11, 13])
def test_a_process_is_killed_at_any_moment(
    step: int, tmp_path: Path, uninterrupted: dict[str, Any]
) -> None:
    check_kill(step, tmp_path / "run", uninterrupted)


def test_ctrl_c_is_heard_by_one_and_saved(
    cli: Cli, heat: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    act = At(3, lambda: os.kill(os.getpid(), signal.SIGINT))
    path = tmp_path / "run"
    result = pinnsig.solve(
        heat, path=path, figures=False, phases=["adam:9"], devices=2, callbacks=[act], **SMALL
    )
    assert result.stop == "interrupted"
    assert result.iterations == 3
    left = cli("resume", path, "--no-figures", "--json")
    assert left.json()["iterations"] == 9


# --- what cannot be -------------------------------------------------------------------------------


def test_what_is_refused(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "devices = 0 must be a whole number" in cli("solve", "heat", "--devices", 0).complaint()
    own = Ranks()
    own.size, own.started = 2, True
    options = Options(False, ranks=own)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"slabs": 2}, "slabs are trained one after another by one process"),
        ({"network": torch.nn.Linear}, "a network from Python cannot be sent"),
    ]
    for given, reason in cases:
        network = given.get("network")
        shared = Options(False, ranks=own, given=OwnParts(network=network)) if network else options
        with pytest.raises((SettingsError, RankError), match=reason):
            drive(
                solving("heat", path=tmp_path / "none", options=shared, **SMALL, **given),
                evaluate_alone,
            )
    monkeypatch.setenv("WORLD_SIZE", "2")
    for name in ("RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.setenv(name, "0")
    with pytest.raises(PinnsigError, match="torchrun has started the processes already"):
        pinnsig.solve("heat", devices=2)


def test_a_launch_goes_on_with_its_own_runs_only(
    tmp_path: Path, uninterrupted: dict[str, Any]
) -> None:
    path = tmp_path / "run"
    shutil.copytree(uninterrupted["run"], path)
    config = RunDirectory(path).read_json("config.json")
    assert begun_by("here 1", path) is None  # one that was begun by hand
    RunDirectory(path).write_json("config.json", {**config, "environment": {"launch": "here 1"}})
    assert begun_by("here 1", path) == path
    assert begun_by("here 2", path) is None
    assert begun_by("here 1", tmp_path / "none") is None
    for name in ("state", "model", "last"):
        (path / f"{name}.safetensors").unlink()
    assert begun_by("here 1", path) is None
    assert (path / "result.json").is_file()  # nothing of a run is lost that came further
    (path / "result.json").unlink()
    assert begun_by("here 1", path) is None
    assert not list(path.iterdir())  # ready to begin again
