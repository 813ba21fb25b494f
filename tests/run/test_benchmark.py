import pytest

from pinnsig.core.errors import SettingsError
from pinnsig.run.benchmark import benchmark
from pinnsig.run.settings import resolve

SMALL = {
    "problem": "burgers", "depth": 2, "width": 8, "collocation": 60, "initial": 8, "boundary": 8,
    "device": "cpu",
}  # fmt: skip


@pytest.mark.slow
def test_every_engine_is_timed_and_right():
    found = {e.name: e for e in benchmark(resolve(SMALL), repeats=2)}
    assert set(found) >= {"jets", "nested"}
    assert found["nested"].ratio == 1.0
    for engine in found.values():
        assert engine.ms > 0
        assert engine.peak_mb >= 0
        assert engine.loss_error <= 1e-4
        assert engine.gradient_error <= 1e-4


def test_no_repeats_are_refused():
    with pytest.raises(SettingsError, match="at least 1"):
        benchmark(resolve(SMALL), repeats=0)


@pytest.mark.slow
def test_on_the_command_line(cli):
    flags = ["--depth", "2", "--width", "8", "--collocation", "60", "--repeats", "1"]
    keys = {"name", "ms", "peak_mb", "loss_error", "gradient_error", "ratio"}
    engines = cli("bench", "burgers", *flags, "--json").json()["engines"]
    assert all(set(engine) == keys for engine in engines)
    assert cli("bench", "burgers", "--repeats", "0").complaint()
    assert cli("bench", "nothing").complaint()
