import math

import numpy as np
import pytest
import torch

from pinnsig.errors import ProblemError
from pinnsig.problem import Box, Choice, Coefficient, Problem


class Heat(Problem):
    domain = Box(x=(0.0, 1.0), t=(0.0, 1.0))
    nu = Coefficient(0.5, above=0.0)
    shift = Coefficient(1.0, minimum=-1.0, maximum=2.0)
    source = Coefficient(0.1, learn=True)
    kind = Choice("plain", "fancy")

    def residual(self, u):
        return u.t - self.nu * u.xx


def test_defaults_and_given_values():
    assert Heat().values() == {"kind": "plain", "nu": 0.5, "shift": 1.0, "source": 0.1}
    problem = Heat(nu=0.25, kind="fancy", shift=np.float32(2.0))
    assert (problem.nu, problem.kind, problem.shift) == (0.25, "fancy", 2.0)
    assert Heat().nu == 0.5  # instances share nothing


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"nu": 0.0}, "nu = 0 cannot be: it must be greater than 0"),
        ({"nu": -1e-3}, "nu = -0.001 cannot be: it must be greater than 0"),
        ({"nu": "much"}, "nu = 'much' is not a number"),
        ({"nu": "0.02"}, "nu = '0.02' is not a number"),
        ({"nu": True}, "nu = True is not a number"),
        ({"nu": 10**400}, "is not a number"),
        ({"nu": None}, "nu = None is not a number"),
        ({"nu": math.nan}, "nu = nan is not finite"),
        ({"nu": math.inf}, "nu = inf is not finite"),
        ({"shift": -1.5}, "shift = -1.5 cannot be: it must be at least -1"),
        ({"shift": 2.5}, "shift = 2.5 cannot be: it must be at most 2"),
        ({"kind": "odd"}, "kind = 'odd' cannot be: choose plain or fancy"),
        ({"knd": "fancy"}, "Heat has no coefficient 'knd': did you mean kind?"),
        ({"zzz": 1}, "Heat has no coefficient 'zzz': it has kind, nu, shift, source"),
    ],
)
def test_refused_in_one_line(setting, words):
    with pytest.raises(ProblemError) as caught:
        Heat(**setting)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_setting_later_is_checked_too():
    problem = Heat()
    problem.nu = 3
    assert problem.nu == 3.0
    with pytest.raises(ProblemError, match="greater than 0"):
        problem.nu = -1


def test_learned_coefficients_become_tensors():
    assert list(Heat.learned()) == ["source"]
    problem = Heat()
    value = torch.tensor(0.75, requires_grad=True)
    problem = problem.bound({"source": value})
    assert problem.source is value
    assert problem.values()["source"] == 0.75
    assert type(problem.values()["source"]) is float
