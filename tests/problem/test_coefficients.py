import math

import numpy as np
import pytest
import torch

from pinnsig.core.errors import ProblemError
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
        ({"zzz": 1}, "Heat has no coefficient 'zzz': known are kind, nu, shift, source"),
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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            {"default": -1.0, "above": 0.0},
            "a coefficient = -1 cannot be: it must be greater than 0",
        ),
        ({"default": "0.1"}, "a coefficient = '0.1' is not a number"),
        ({"default": math.nan}, "a coefficient = nan is not finite"),
        ({"default": 0.0, "minimum": 0.0, "learn": True}, "never leave the one that it starts at"),
        ({"default": 1.0, "maximum": 1.0, "learn": True}, "never leave the one that it starts at"),
        ({"default": 0.5, "minimum": 1.0, "maximum": 0.0}, "nothing lies between"),
        ({"default": 1.0, "minimum": 1.0, "maximum": 1.0, "learn": True}, "nothing lies between"),
        ({"default": 1.0, "above": math.nan}, "above = nan is no number"),
        ({"default": 1.0, "maximum": "2"}, "maximum = '2' is not a number"),
        ({"default": 1.0, "learn": True, "true": math.inf}, "true = inf is not finite"),
        ({"default": 1.0, "learn": True, "true": -1.0, "above": 0.0}, "true = -1 cannot be"),
        ({"default": 1.0, "true": 2.0}, "true= belongs to a coefficient that is learned"),
    ],
)
def test_a_definition_that_cannot_be_is_refused(arguments, words):
    with pytest.raises(ProblemError) as caught:
        Coefficient(**arguments)
    assert words in str(caught.value)


def test_a_fixed_coefficient_may_stand_at_its_limit():
    assert Coefficient(0.0, minimum=0.0).default == 0.0
    assert Coefficient(1.0, minimum=1.0, maximum=1.0).default == 1.0


class Held(Heat):
    k = Coefficient(0.1, minimum=0.0, learn=True, true="k_true")
    k_true = Coefficient(0.2)
    lost = Coefficient(0.1, learn=True, true=0.3)


def test_a_true_value_may_be_another_coefficients():
    assert Held().true_values() == {"k": 0.2, "lost": 0.3, "source": None}
    assert Held(k_true=0.5, k=0.4).true_values()["k"] == 0.5
    with pytest.raises(ProblemError, match="true = -1 cannot be: it must be at least 0"):
        Held(k_true=-1.0).true_values()
    with pytest.raises(ProblemError, match="k = 0 cannot be: it is learned between its limits"):
        Held(k=0.0)

    class Misspelt(Heat):
        k = Coefficient(0.1, learn=True, true="kind")

    with pytest.raises(ProblemError, match="k: true = 'kind' names no coefficient"):
        Misspelt().true_values()


def test_a_true_value_may_be_a_function_of_coefficients_and_choices():
    class Level(Heat):
        k_true = Coefficient(0.2)
        E = Coefficient(0.1, above=0.0, learn=True, true=lambda k_true: 2 * k_true + 1)

    class Itself(Heat):
        E = Coefficient(0.1, learn=True, true=lambda E: E)

    assert Level.E.learning == "learned, starts at 0.1, true by k_true"
    assert Level(k_true=3.0, E=0.5).true_values()["E"] == 7.0
    with pytest.raises(ProblemError, match="true = -1 cannot be: it must be greater than 0"):
        Level(k_true=-1.0).true_values()
    with pytest.raises(ProblemError, match="the true value of E: its parameter 'E' is none of"):
        Itself().true_values()


def test_rules_and_learning_in_words():
    assert (Held.k.rule, Held.k.learning) == (
        "at least 0", "learned, starts at 0.1, true k_true",
    )  # fmt: skip
    assert Held.lost.learning == "learned, starts at 0.1, true 0.3"
    assert Heat.source.learning == "learned, starts at 0.1, true not known"
    assert (Heat.shift.rule, Heat.nu.learning) == ("at least -1, at most 2", "")
