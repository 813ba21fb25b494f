"""Partials of the network's inputs: known maps of coordinates against jets of the same."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from pinnsig.derivatives import Plan, coordinate_jets, input_partials
from pinnsig.derivatives.inputs import ScaledCoordinates, stack_partials

NUMBERS = st.floats(-1e3, 1e3, allow_subnormal=False)
ALPHAS = st.lists(st.tuples(*[st.integers(0, 2)] * 2, st.just(0)), max_size=3)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=3), ALPHAS, st.randoms())
def test_scaled_coordinates_have_the_partials_of_their_jets(maps, alphas, random):
    plan = Plan.closing(("x", "y", "t"), alphas)
    names = random.sample(plan.coordinates, len(maps))
    features = ScaledCoordinates(dict(zip(names, maps, strict=True)))
    points = torch.randn(5, 3, dtype=torch.float64)
    jets = coordinate_jets(plan.coordinates, points)
    expected = stack_partials(features(jets), plan)
    assert torch.equal(input_partials(features, points, plan), expected)


def test_without_features_the_inputs_are_the_coordinates():
    plan = Plan.closing(("x", "t"), [(2, 0), (0, 1)])
    points = torch.randn(4, 2)
    expected = stack_partials(list(coordinate_jets(plan.coordinates, points).values()), plan)
    assert torch.equal(input_partials(None, points, plan), expected)
    assert input_partials(None, points, plan).data_ptr() != points.data_ptr()
