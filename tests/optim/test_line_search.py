import math

import pytest
import torch

from pinnsig.optim import StrongWolfe
from pinnsig.optim.line_search import Trial


def along(f, df):
    def at(t):
        return Trial(t, f(t), df(t), torch.zeros(1))

    return at


FUNCTIONS = {
    # More and Thuente (1994), section 5, and a well
    "more-thuente 1": (lambda t: -t / (t * t + 2), lambda t: (t * t - 2) / (t * t + 2) ** 2),
    "more-thuente 2": (
        lambda t: (t + 0.004) ** 5 - 2 * (t + 0.004) ** 4,
        lambda t: 5 * (t + 0.004) ** 4 - 8 * (t + 0.004) ** 3,
    ),
    "well": (lambda t: (t - 3) ** 4, lambda t: 4 * (t - 3) ** 3),
    "wall": (
        lambda t: -t if t < 2 else math.inf,
        lambda t: -1.0 if t < 2 else math.nan,
    ),
    "cosh": (lambda t: math.cosh(t - 1), lambda t: math.sinh(t - 1)),
}


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n != "wall"])
@pytest.mark.parametrize("first", [1e-3, 0.1, 10.0, 1000.0])
@pytest.mark.parametrize("c2", [0.1, 0.9])
def test_the_strong_wolfe_conditions_hold(name, first, c2):
    if name == "cosh":
        first = min(first, 300.0)  # cosh overflows beyond
    at = along(*FUNCTIONS[name])
    start = at(0.0)
    found = StrongWolfe(c1=1e-4, c2=c2, trials=60).search(at, start, first)
    assert found is not None
    assert found.loss <= start.loss + 1e-4 * found.t * start.slope
    assert abs(found.slope) <= -c2 * start.slope


def test_a_wall_of_infinities_is_backed_away_from():
    at = along(*FUNCTIONS["wall"])
    found = StrongWolfe().search(at, at(0.0), 100.0)
    assert found is not None
    assert 0 < found.t < 2


def test_trials_are_counted():
    calls = 0
    f, df = FUNCTIONS["more-thuente 1"]

    def at(t):
        nonlocal calls
        calls += 1
        return Trial(t, f(t), df(t), torch.zeros(1))

    StrongWolfe(c2=1e-9, trials=4).search(at, Trial(0.0, f(0), df(0), torch.zeros(1)), 1e-6)
    assert calls == 4


def test_nothing_but_worse_points_give_nothing():
    at = along(lambda t: t, lambda t: -1.0)  # a slope that lies
    assert StrongWolfe(trials=8).search(at, at(0.0), 1.0) is None
