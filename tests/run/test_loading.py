"""`load`: a run as a model that predicts, also where the original problem file is gone."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import pinnsig
from pinnsig.core.errors import (
    DeviceError,
    OutsideDomainWarning,
    PinnsigError,
    ProblemError,
    RunError,
)
from tests.conftest import HEAT, SMALL, Cli


def test_predictions_of_numbers_and_arrays(finished: Path):
    model = pinnsig.load(finished)
    one = model.predict(x=0.1, t=0.5)
    assert set(one) == {"u"}
    assert one["u"].shape == (1,)
    many = model.predict(("u", "u.x", "u_t"), x=[0.1, 0.2, 0.3], t=0.5)
    assert {name: v.shape for name, v in many.items()} == dict.fromkeys(("u", "u.x", "u_t"), (3,))
    assert many["u"].dtype == np.float64
    assert many["u"][0] == pytest.approx(one["u"][0], rel=1e-5)


def test_partials_agree_with_differences(finished: Path):
    model = pinnsig.load(finished)
    h = 1e-2
    u = model.predict(x=[0.1 - h, 0.1, 0.1 + h], t=0.5)["u"]
    partials = model.predict(("u.x", "u.xx"), x=0.1, t=0.5)
    assert partials["u.x"][0] == pytest.approx((u[2] - u[0]) / (2 * h), rel=1e-2)
    assert partials["u.xx"][0] == pytest.approx((u[2] - 2 * u[1] + u[0]) / h**2, rel=5e-2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"x": 0.1}, "x, t are needed"),
        ({"x": 0.1, "t": 0.5, "y": 1.0}, "x, t are needed"),
        ({"x": [0.1, 0.2], "t": [0.1, 0.2, 0.3]}, "do not fit each other: x \\(2,\\), t \\(3,\\)"),
        ({"x": [0.1, float("nan")], "t": 0.5}, "coordinate x: 1 of 2 values are not finite"),
        ({"x": "0.1", "t": 0.5}, "coordinate x holds something that is no real number"),
        ({"x": 0.1, "t": 0.5 + 1j}, "coordinate t holds something that is no real number"),
        ({"of": "v", "x": 0.1, "t": 0.5}, "'v'"),
        ({"of": "u.z", "x": 0.1, "t": 0.5}, "'u.z'"),
    ],
)
def test_wrong_questions(finished: Path, arguments: dict, words: str):
    with pytest.raises(PinnsigError, match=words):
        pinnsig.load(finished).predict(**arguments)


def test_any_shapes_that_broadcast(finished: Path):
    model = pinnsig.load(finished)
    x, t = np.meshgrid(np.linspace(-1, 1, 4), np.linspace(0, 1, 3), indexing="ij")
    mesh = model.predict(("u", "u.x"), x=x, t=t)
    flat = model.predict(("u", "u.x"), x=x.ravel(), t=t.ravel())
    for name, values in mesh.items():
        assert values.shape == (4, 3)
        np.testing.assert_array_equal(values.ravel(), flat[name])
    sparse = model.predict(x=x[:, :1], t=t[:1])
    np.testing.assert_array_equal(sparse["u"], mesh["u"])
    assert model.predict(x=[], t=0.5)["u"].shape == (0,)
    assert model.predict(x=np.zeros((2, 0, 3)), t=1)["u"].shape == (2, 0, 3)
    tensors = model.model.predict({"x": torch.tensor(x, dtype=torch.float32), "t": 0.5})
    assert tensors["u"].shape == (4, 3)


def test_points_outside_the_domain_are_answered_with_a_warning(finished: Path):
    model = pinnsig.load(finished)
    with pytest.warns(
        OutsideDomainWarning, match=r"2 of 3 points lie outside the domain: x = 7 to"
    ):
        found = model.predict(x=[7.0, 8.0, 0.5], t=0.5)
    assert np.isfinite(found["u"]).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(x=[-1.0, 1.0, 1.0 + 1e-9], t=[0.0, 1.0, 0.5])


def test_a_users_problem_is_kept_with_the_run(cli: Cli, solve: Cli, heat: Path):
    run = Path(solve(heat, "--json", "--set", "k=0.2").json()["run"])
    assert (run / "source" / "heat.py").read_text(encoding="utf-8") == HEAT
    expected = pinnsig.load(run).predict(x=0.5, t=0.5)["u"]
    heat.unlink()
    model = pinnsig.load(run)
    assert model.model.problem.values() == {"k": 0.2}
    assert model.predict(x=0.5, t=0.5)["u"] == expected
    assert cli("predict", run, "--at", "x=0.5", "t=0.5").code == 0


def test_one_class_of_several_in_a_file(solve: Cli, heat: Path):
    text = HEAT + '\nclass Other(Heat):\n    """Another."""\n    k = Coefficient(0.3)\n'
    heat.write_text(text, encoding="utf-8")
    assert "choose one with" in solve(heat).complaint()
    run = solve(f"{heat}:Other", "--json").json()["run"]
    heat.unlink()
    assert type(pinnsig.load(run).model.problem).__name__ == "Other"


def test_a_class_that_no_one_can_look_up(runs: Path, cli: Cli):
    namespace = {"__name__": "__notebook__"}
    exec(HEAT, namespace)
    kind: Any = namespace["Heat"]
    run = pinnsig.solve(kind, runs=runs, figures=False, **SMALL).path
    with pytest.raises(ProblemError, match=r"load\(run, problem=Heat\)"):
        pinnsig.load(run)
    assert "problem=Heat" in cli("plot", run).complaint()
    assert pinnsig.load(run, problem=kind).predict(x=0.1, t=0.1)["u"].shape == (1,)


def test_wrong_weights_or_device(finished: Path):
    with pytest.raises(RunError, match="choose best or last"):
        pinnsig.load(finished, weights="first")
    with pytest.raises(DeviceError, match="tpu"):
        pinnsig.load(finished, device="tpu")


def test_a_run_of_another_device_loads_on_the_cpu(finished: Path, tmp_path: Path):
    for name in ("model.safetensors", "config.json"):
        (tmp_path / name).write_bytes((finished / name).read_bytes())
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    text = json.dumps({**config, "device": "cuda:3"})
    (tmp_path / "config.json").write_text(text, encoding="utf-8")
    assert pinnsig.load(tmp_path).predict(x=0.1, t=0.5)["u"].shape == (1,)
