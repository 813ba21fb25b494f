"""What is refused, or told, when a run's parts are made."""

import pytest

import pinnsig
from pinnsig.core.errors import ActivationError, ProblemError
from pinnsig.problem import Box, Problem
from pinnsig.run.building import build
from pinnsig.run.settings import resolve
from tests.conftest import SMALL


def on(domain: Box) -> type[Problem]:
    def residual(self, u):
        return u - 1.0

    return type("Far", (Problem,), {"domain": domain, "residual": residual})


def parts(domain: Box, **given):
    return build(resolve({**kept(given), "problem": "Far", **given}), on(domain))


def kept(given):
    """Small settings, without counts where there are phases."""
    return {k: v for k, v in SMALL.items() if "phases" not in given or k not in ("adam", "lbfgs")}


LATE = Box(t=(1.7e9, 1.7e9 + 10.0))


@pytest.mark.parametrize(
    ("domain", "given", "words"),
    [
        (LATE, {"dtype": "float32"}, r"Far: t from 1700000000 to 1700000010 has 0 different "
         r"positions in float32: take --dtype float64, or let t begin at 0, as t - 1.7e\+09"),
        (LATE, {"dtype": "float32", "normalize": True}, "different positions in float32"),
        (LATE, {"dtype": "float64", "phases": ["adam:1,dtype=float32"]}, "positions in float32"),
        (Box(t=(1e17, 1e17 + 100)), {"dtype": "float64"}, "positions in float64: let t begin at 0"),
        (Box(x=(0.0, 1.0), y=(0.0, 1e39)), {"dtype": "float32"}, "y from 0 to 1e.39 has 0"),
    ],
)  # fmt: skip
def test_positions_that_fall_together_are_refused(runs, domain, given, words):
    with pytest.raises(ProblemError, match=words):
        parts(domain, **given)
    with pytest.raises(ProblemError, match=words):
        pinnsig.solve(on(domain), runs=runs, **kept(given), **given)
    assert not runs.exists()


def test_coarse_positions_are_told():
    near = Box(x=(1000.0, 1001.0))
    (told,) = (n for n in parts(near, dtype="float32").notices if "positions" in n)
    assert told == (
        "x from 1000 to 1001 has 1.64e+04 different positions in float32: take --dtype float64, "
        "or let x begin at 0, as x - 1000"
    )
    assert not any("positions" in n for n in parts(near, dtype="float64").notices)
    assert not any("positions" in n for n in parts(LATE, dtype="float64").notices)


def test_an_activation_outside_the_class_needs_another_initialiser():
    with pytest.raises(ActivationError, match=r"init = calibrated .* take init = xavier"):
        parts(Box(x=(0.0, 1.0)), act="sin")
    made = parts(Box(x=(0.0, 1.0)), act="1.5*sin(2x)", scale=0.5, init="xavier")
    assert made.settings.lr == 1e-3
    assert not any("omega" in notice for notice in made.notices)
