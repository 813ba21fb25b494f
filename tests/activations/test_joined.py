"""Joined activations give every member the numbers of its own function."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pinnsig.activations import Activation, join, parse_activation, structure
from pinnsig.activations.joined import joined_factors

FACTORS = st.sampled_from([1.0, 0.3, 1.3, 2.0])
INNER = [
    "tanh", "erf", "gd", "arctan", "softsign1", "softsign2", "softsign2.5", "sin", "silu",
]  # fmt: skip


@st.composite
def families(draw, members: int = 3) -> list[Activation]:
    """Activations that differ in factors alone, some of which may be missing."""

    def wrapped(inner: list[Activation]) -> list[Activation]:
        for kind in draw(st.permutations(["scale", "stretch"])):
            factors = [draw(FACTORS) for _ in inner]
            inner = [
                f if c == 1.0 else (c * f if kind == "scale" else f.stretch(c))
                for f, c in zip(inner, factors, strict=True)
            ]
        return inner

    names = draw(st.lists(st.sampled_from(INNER), min_size=1, max_size=2))
    terms = [wrapped([parse_activation(name)] * members) for name in names]
    if len(terms) == 1:
        return terms[0]
    return wrapped([a + b for a, b in zip(*terms, strict=True)])


@settings(deadline=None)
@given(family=families(), dtype=st.sampled_from([torch.float32, torch.float64]))
def test_each_member_has_its_own_numbers(family, dtype):
    joined = join(family)
    assert joined is not None
    x = torch.linspace(-4, 4, 41).to(dtype).expand(len(family), -1)
    x = torch.stack([x, 0.1 * x], dim=1)
    rounding = 8 * torch.finfo(dtype).eps  # vectors of the processor begin elsewhere
    for n, derivatives in enumerate(joined.derivatives(x, 5)):
        for mine, own, f in zip(derivatives, x, family, strict=True):
            exact = f.derivatives(own, 5)[n]
            slack = rounding * (exact.abs() + 0.1 * exact.abs().max())
            assert ((mine - exact).abs() <= slack).all()


def test_what_is_not_alike_is_not_joined():
    tanh, softsign = parse_activation("tanh"), parse_activation("softsign2")
    assert join([tanh, softsign]) is None
    assert join([tanh, tanh + softsign]) is None
    assert join([softsign, parse_activation("softsign3")]) is None
    assert join([1e20 * tanh, tanh]) is None  # float32 would overflow
    assert structure(1.3 * tanh) == structure(tanh.stretch(2.0)) == structure(tanh)


def test_a_joined_activation_is_known_by_its_structure():
    """Whatever the factors, they come in the same places: kernels are made once."""
    members = [parse_activation(text) for text in ("2*tanh(3x)+erf", "0.5*tanh+1.5*erf")]
    joined = join(members)
    assert joined is not None
    assert joined_factors(joined) == ((2.0, 0.5), (3.0, 1.0), (1.0, 1.5))
    assert joined == join(members[::-1])
    assert join(members[:1]) == join(members[:1])
    assert joined.slope >= max(f.slope for f in members)
    assert joined.bound >= max(f.bound for f in members)
