"""What is said of this machine."""

import torch

from pinnsig.run.doctor import EXTRAS, diagnose
from tests.conftest import Cli


def test_facts_and_advice(cli: Cli, monkeypatch):
    monkeypatch.setenv("PINNSIG_COMPILE", "0")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr("pinnsig.run.doctor.os.getloadavg", lambda: (512.0, 0.0, 0.0))
    monkeypatch.setattr("pinnsig.run.doctor.os.sched_getaffinity", lambda _: {0, 1, 2})
    found = cli("doctor", "--json").json()
    assert found["versions"]["torch"] == torch.__version__
    assert found["compiler"]["works"] == "not asked (PINNSIG_COMPILE=0)"
    assert found["processor"]["usable"] == 3
    assert found["one evaluation"]["engine"] == "jets"
    assert found["extras"].keys() == EXTRAS.keys()
    advice = "\n".join(found["advice"])
    assert "PINNSIG_COMPILE=0 is set" in advice
    assert "a run uses 1 of 3 cores" in advice
    assert "the load is 512.0 on 3 cores" in advice


def test_an_extra_that_is_missing_and_nothing_slow(cli: Cli, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("pinnsig.run.doctor.os.getloadavg", lambda: (0.0, 0.0, 0.0))
    monkeypatch.setitem(EXTRAS, "ray", ("no_such_module", "sweeps on a Ray cluster"))
    shown = cli("doctor").out
    assert "sweeps on a Ray cluster: pip install 'pinnsig[ray]'" in shown
    if not diagnose().advice:
        assert "nothing here is slower than it has to be" in shown
