"""What cannot fit into memory is refused in words, before any of it is taken."""

import numpy as np
import pytest
import torch

from pinnsig.activations import parse_activation
from pinnsig.calibration import layerwise_chi
from pinnsig.calibration.quadrature import gauss_hermite
from pinnsig.core import memory
from pinnsig.core.errors import (
    CalibrationError,
    PinnsigError,
    SamplingError,
    SettingsError,
    SignalError,
)
from pinnsig.initializers import parse_initializer
from pinnsig.networks import FFNN
from pinnsig.problem import Box, Problem
from pinnsig.run.building import build
from pinnsig.run.settings import resolve
from pinnsig.run.solver import solve
from pinnsig.sampling import Counts, draw_sites
from pinnsig.signal import normal_inputs
from pinnsig.signal.network import RandomNetwork
from pinnsig.sweeps import make_grid

HUGE = 10**9
CPU = torch.device("cpu")


def test_free_memory_is_known_and_heeds_a_control_group(monkeypatch, tmp_path):
    free = memory.available_memory(CPU)
    assert free is None or 0 < free < 2**50
    (tmp_path / "max").write_text("3000\n")
    (tmp_path / "used").write_text("1500\n")
    (tmp_path / "memory.stat").write_text("anon 900\ninactive_file 500\n")
    groups = (str(tmp_path), "max", "used", "inactive_file"), ("/nowhere", "max", "used", "file")
    monkeypatch.setattr(memory, "CONTROL_GROUPS", groups)
    monkeypatch.setattr(memory, "_half_of_physical_memory", lambda: None)
    assert memory.available_memory(CPU) in (None, 2000)


@pytest.mark.parametrize(
    ("size", "words"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1 kB"), (5.6e5, "560 kB"), (1.34e12, "1.34 TB"),
     (999_600, "1 MB"), (1e30, "1e+12 EB")],
)  # fmt: skip
def test_bytes_in_words(size, words):
    assert memory.in_words(size) == words


def test_what_fits_is_let_through_and_the_rest_is_refused_with_both_sizes(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda device: 10**9)
    memory.require(10**9, "things", "fewer")
    with pytest.raises(SignalError, match="things would take 2 GB .* 1 GB can be had: fewer"):
        memory.require(2 * 10**9, "things", "fewer", error=SignalError)
    monkeypatch.setattr(memory, "available_memory", lambda device: None)
    memory.require(1e30, "things", "fewer")  # the system does not tell


class Line(Problem):
    """u' = 0 on many coordinates."""

    domain = Box(x=(0.0, 1.0))

    def residual(self, u):
        return u.x


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"depth": HUGE}, "weights of a network of 1,000,000,000 layers"),
        ({"width": HUGE}, "layers of 1,000,000,000 units"),
        ({"collocation": 100 * HUGE}, "points of 1 coordinates"),
        ({"phases": [f"lbfgs:1,history={HUGE}"]}, "1,000,000,000 pairs of vectors"),
        ({"phases": [f"gncg:1,rank={HUGE}"], "depth": 40, "width": 200}, "rank = 1000000000"),
        ({"phases": ["ssbroyden:1"], "width": 1000}, "inverse Hessian"),
        ({"phases": [f"adam:1,points=rad,candidates={100 * HUGE}"]}, "candidates"),
        ({"phases": ["adam:1000000,points=rar-d,every=1,added=1000000"]}, "added points"),
        ({"init": f"eoc:nodes={HUGE}"}, "Gauss-Hermite rule"),
    ],
)
def test_a_run_that_cannot_fit_is_refused_and_leaves_nothing(given, words, tmp_path):
    with pytest.raises(PinnsigError, match=words) as caught:
        solve(Line, runs=tmp_path / "runs", **given)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "runs").exists()


def test_parts_of_the_library_refuse_by_themselves():
    tanh, calibrated = parse_activation("tanh"), parse_initializer("calibrated:p=0.4")
    with pytest.raises(SettingsError, match="take fewer layers"):
        FFNN(1, 1, HUGE, 10, tanh)
    with pytest.raises(SamplingError, match="take fewer points"):
        draw_sites(Line(), Counts(100 * HUGE, 0, 0), "grid", 0)
    with pytest.raises(SignalError, match="figures of 1,000,000,000,000 layers"):
        RandomNetwork(tanh, calibrated, 10**12, 10)
    with pytest.raises(SignalError, match="inputs of size"):
        normal_inputs(HUGE, HUGE)
    with pytest.raises(CalibrationError, match="take fewer layers"):
        layerwise_chi(tanh, 10**13, 1.0)
    with pytest.raises(CalibrationError, match="at most 100,000"):
        gauss_hermite(HUGE)


@pytest.mark.parametrize(
    "given",
    [
        {"scale": "0.1:2:1000000000"},
        {"seed": "1:1000000000:1000000000"},
        {"scale": "log:0.1:10:1000", "seed": list(range(1000))},
    ],
)
def test_a_grid_of_too_many_runs_is_refused(given):
    with pytest.raises(SettingsError, match="at most 100,000"):
        make_grid({"problem": "burgers", **given})


def test_zipped_values_count_once():
    many = list(range(400))
    given = {"problem": "burgers", "seed": many, "scale": [1.0 + i for i in many]}
    assert len(make_grid(given, zip=True).members()) == 400


def test_the_notice_of_a_preset_speaks_of_bytes_as_people_do():
    parts = build(resolve({"problem": "burgers", "depth": 50, "width": 64}))
    notices = [text for text in parts.notices if "self-scaled Broyden" in text]
    assert len(notices) == 1
    assert "168 GB" in notices[0]
    assert np.isclose(4 * (50 * 64**2) ** 2 / 1e9, 168, rtol=1e-2)
