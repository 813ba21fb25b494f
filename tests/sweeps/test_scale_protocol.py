"""The paper's two sweeps: the protocol of appendix C.4, and verdicts on made-up losses."""

import json
from pathlib import Path

import pytest

from pinnsig.core.errors import SettingsError
from pinnsig.run.settings import resolve
from pinnsig.sweeps import SweepTable, scale_protocol
from pinnsig.sweeps.drawing import draw_sweep
from pinnsig.sweeps.scale_protocol import run_scale_sweep, scale_verdict
from tests.conftest import SMALL


def made_up(losses: dict[str, dict[float, list[float | None]]]) -> SweepTable:
    """Rows of one activation; losses by initialiser and scale, one for each seed."""
    rows = [
        {"run": f"{init}-{scale}-{seed}", "status": "done" if loss else "failed",
         "problem": "burgers", "act": "tanh", "init": init, "scale": scale, "seed": seed,
         "best_loss": loss}
        for init, line in losses.items() for scale, seeds in line.items()
        for seed, loss in enumerate(seeds)
    ]  # fmt: skip
    return SweepTable(rows, ["problem", "act", "scale", "init", "seed"], Path())


def test_verdicts_by_hand():
    table = made_up({
        "calibrated:p=0.49": {0.5: [2.0, 2.0, 9.0], 1.0: [2.0, 2.0, 2.0], 2.0: [None] * 3},
        "eoc:sigma_b=0": {0.5: [3.0, 3.0, 3.0], 1.0: [3.0, 3.0, 3.0], 2.0: [3.0] * 3},
        "eoc:sigma_b=0.2": {0.5: [1.0, 1.0, 1.0], 1.0: [2.5, 1.0, 2.5], 2.0: [1.0] * 3},
    })  # fmt: skip
    verdict = scale_verdict(table)
    assert (verdict.problem, verdict.seeds, verdict.missing) == ("burgers", 3, 3)
    zero, fifth = verdict.panels
    assert (zero.against, zero.below, zero.scales) == ("eoc:sigma_b=0", [0.5, 1.0], [0.5, 1.0])
    assert (zero.test.wins, zero.test.losses, zero.test.unpaired) == (5, 1, 3)
    assert (fifth.below, fifth.test.wins, fifth.test.losses) == ([1.0], 2, 4)
    assert zero.test.winner is None
    assert "tanh: calibrated median below eoc:sigma_b=0 at 2 of 2 scales" in str(verdict)
    assert "3 runs missing" in str(verdict)
    json.dumps(verdict.as_dict())


@pytest.mark.parametrize("name", ["burgers-scale", "black-scholes-scale"])
def test_the_protocol_is_that_of_the_appendix(name: str, monkeypatch: pytest.MonkeyPatch):
    asked = {}
    monkeypatch.setattr(scale_protocol, "sweep", lambda p, **kw: asked.update(kw, problem=p))
    run_scale_sweep(name, "paper", seeds=[4])
    assert asked["scale"] == [0.1, 0.3, 0.5, 0.8, 1.0, 1.3, 1.5, 1.8, 2.0]
    assert asked["act"] == ["tanh", "softsign2"]
    one = {**asked, "act": "tanh", "scale": 2.0, "init": asked["init"][0], "seed": 4}
    settings = resolve(one)
    counts = (settings.collocation, settings.initial, settings.boundary)
    burgers = name == "burgers-scale"
    assert counts == ((20_000, 1_000, 1_000) if burgers else (30_000, 4_000, 4_000))
    assert (settings.adam, settings.lbfgs, settings.depth, settings.width) == (600, 1000, 50, 64)


def test_another_name_is_refused():
    with pytest.raises(SettingsError, match="did you mean burgers-scale"):
        run_scale_sweep("heat-scale")


def test_run_judged_and_drawn(tmp_path: Path):
    table = run_scale_sweep(
        "burgers-scale", seeds=[0], out=tmp_path / "sweep", **{**SMALL, "scale": [0.5, 1.0]}
    )
    assert len(table.done) == 12
    verdict = scale_verdict(table)
    assert [(p.activation, p.against) for p in verdict.panels] == [
        ("tanh", "eoc:sigma_b=0"), ("tanh", "eoc:sigma_b=0.2"),
        ("softsign2", "eoc:sigma_b=0"), ("softsign2", "eoc:sigma_b=0.2"),
    ]  # fmt: skip
    assert all(len(panel.scales) == 2 for panel in verdict.panels)
    paths = draw_sweep(table)
    assert [path.name for path in paths] == ["best_loss.png", "relative_l2.png", "seconds.png"]
    assert all(path.stat().st_size > 10_000 for path in paths)
