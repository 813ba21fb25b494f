import math

import pytest
import torch

from pinnsig.optim import StrongWolfe, drive
from pinnsig.optim.line_search import Trial


def along(f, df):
    def at(t):
        return (yield t)

    return at, lambda t: Trial(t, f(t), df(t), torch.zeros(1))


def search(wolfe, f, df, first, start=None):
    at, trial = along(f, df)
    return drive(wolfe.search(at, start or trial(0.0), first), trial)


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
    f, df = FUNCTIONS[name]
    start = Trial(0.0, f(0.0), df(0.0), torch.zeros(1))
    found = search(StrongWolfe(c1=1e-4, c2=c2, trials=60), f, df, first)
    assert found is not None
    assert found.loss <= start.loss + 1e-4 * found.t * start.slope
    assert abs(found.slope) <= -c2 * start.slope


def test_a_wall_of_infinities_is_backed_away_from():
    found = search(StrongWolfe(), FUNCTIONS["wall"][0], FUNCTIONS["wall"][1], 100.0)
    assert found is not None
    assert 0 < found.t < 2


def test_trials_are_counted():
    calls = []
    f, df = FUNCTIONS["more-thuente 1"]
    search(StrongWolfe(c2=1e-9, trials=4), lambda t: calls.append(t) or f(t), df, 1e-6)
    assert len(calls) == 1 + 4  # the start's own is no trial


def test_nothing_but_worse_points_give_nothing():
    # a slope that lies
    assert search(StrongWolfe(trials=8), lambda t: t, lambda t: -1.0, 1.0) is None
