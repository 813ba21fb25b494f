from typing import Any

import pytest

from pinnsig.core.errors import ProblemError
from pinnsig.problem import Box, Condition, Dirichlet, Initial, PointData, Problem


class Base(Problem):
    domain = Box(x=(0.0, 1.0), y=(0.0, 1.0), t=(0.0, 1.0))

    def residual(self, u):
        return u.t


def names(*conditions: Condition) -> list[str]:
    class Case(Base):
        def conditions(self):
            return conditions

    return list(Case().terms())


def test_a_single_term_has_its_groups_name():
    data = PointData(x=[0.0], y=[0.0], t=[0.0], u=[0.0])
    assert names(Initial(u=0.0), Dirichlet(on="x", u=0.0), data) == ["initial", "boundary", "data"]
    assert names() == []


def test_terms_of_one_group_add_where_they_hold():
    faces = [Dirichlet(on=on, u=0.0) for on in ("x", "y-", ("x-", "y+"), "x", "x")]
    assert names(*faces) == [
        "boundary_x",
        "boundary_y-",
        "boundary_x-_y+",
        "boundary_x_2",
        "boundary_x_3",
    ]
    assert names(Initial(u=0.0), Initial(u_t=0.0)) == ["initial", "initial_2"]


def test_own_names():
    wall = Dirichlet(on="x", u=0.0, name="wall")
    assert names(wall, Dirichlet(on="y", u=0.0)) == ["wall", "boundary"]
    with pytest.raises(ProblemError, match="two terms are named 'wall'"):
        names(wall, wall)
    with pytest.raises(ProblemError, match="two terms are named 'residual'"):
        names(Dirichlet(on="x", u=0.0, name="residual"))


@pytest.mark.parametrize("found", [None, 3.0, ["x"], [Dirichlet]])
def test_conditions_that_are_none(found):
    class Case(Base):
        def conditions(self):
            return found

    with pytest.raises(ProblemError, match=r"Case.conditions gives .* no condition: write yield"):
        Case().terms()


def test_one_condition_may_be_returned_bare():
    class Case(Base):
        def conditions(self):
            found: Any = Dirichlet(on="x", u=0.0)
            return found

    assert list(Case().terms()) == ["boundary"]


def test_class_that_is_not_well_formed():
    class NoDomain(Problem):
        def residual(self, u):
            return u.t

    class NoResidual(Problem):
        domain = Box(x=(0.0, 1.0))

    class OneWord(Base):
        fields = "u"  # pyright: ignore[reportAssignmentType]

    class Clash(Base):
        fields = ("u", "x")

    cases = [
        (NoDomain, "NoDomain: there is no domain"),
        (NoResidual, "NoResidual: there is no residual"),
        (OneWord, "fields must be a tuple"),
        (Clash, "names of their own"),
    ]
    for case, words in cases:
        with pytest.raises(ProblemError, match=words):
            case()


def test_optional_methods_and_outputs():
    class Hard(Base):
        def ansatz(self, n, x):
            return x * n

    assert (Base().has("ansatz"), Hard().has("ansatz")) == (False, True)
    assert (Base().outputs, Hard().outputs) == (("u",), ("n",))
    assert Hard().call("ansatz", {"x": 2.0, "t": 1.0, "n": 3.0}) == 6.0
    with pytest.raises(ProblemError, match=r"Hard.ansatz: its parameter 'n' is none of x"):
        Hard().call("ansatz", {"x": 2.0})
