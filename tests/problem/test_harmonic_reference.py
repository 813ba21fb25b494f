"""Harmonic functions from their boundary values, against closed forms."""

import math

import pytest
import torch

from pinnsig.problem import HarmonicReference, corner, corner_logarithm, edges, poles, powers

SQUARE = [0j, 1 + 0j, 1 + 1j, 1j]
Z = torch.complex(*torch.rand(2, 200, generator=torch.Generator().manual_seed(0)).double())


def test_a_polynomial_is_found_by_its_values_on_a_square():
    def cube(z):
        return (z**3).real - 2 * z.imag

    boundary = edges(SQUARE, 30)
    found = HarmonicReference([powers(6)], boundary, cube(boundary))
    torch.testing.assert_close(found(Z), cube(Z), rtol=0, atol=1e-13)


def test_a_ring_between_two_temperatures():
    turn = torch.polar(torch.ones(80).double(), torch.arange(80).double() * (math.pi / 40))
    boundary = torch.cat([turn, 0.25 * turn])
    values = torch.cat([torch.zeros(80), torch.ones(80)]).double()
    found = HarmonicReference([powers(5), poles(5, 0j, 0.25)], boundary, values)
    z = 0.25 + 0.75 * Z.real + 0j
    exact = torch.log(z.abs()) / math.log(0.25)
    torch.testing.assert_close(found(z), exact, rtol=0, atol=1e-13)


@pytest.mark.parametrize("opening", [1.5 * math.pi, math.pi / 2, 1.8 * math.pi])
def test_singular_powers_vanish_on_both_edges_of_their_corner(opening):
    r = torch.linspace(0.1, 1, 5).double()
    first = torch.polar(r, torch.full_like(r, 0.3))
    last = torch.polar(r, torch.full_like(r, 0.3 + opening))
    functions = corner(4, 0j, 0.3, opening)
    for edge in (first, last):
        assert functions(edge).imag.abs().max() < 1e-14
    # in between they are r^(k pi / opening)
    middle = torch.polar(r, torch.full_like(r, 0.3 + opening / 2))
    torch.testing.assert_close(functions(middle)[:, 0].imag, r ** (math.pi / opening))


def test_the_logarithm_of_a_corner_is_harmonic_and_as_stated_on_its_edges():
    r = torch.linspace(0.1, 1, 5).double()
    opening = math.pi / 2
    for angle, expected in ((0.0, 0 * r), (opening, -opening * r**2)):
        z = torch.polar(r, torch.full_like(r, angle))
        torch.testing.assert_close(
            corner_logarithm(z, 0j, 0.0, opening), expected, rtol=0, atol=1e-14
        )
    x, y = (0.3 + 0.5 * c for c in (Z.real, Z.imag))
    h = 1e-3

    def at(x, y):
        return corner_logarithm(torch.complex(x, y), 0j, 0.0, opening)

    laplacian = (at(x + h, y) + at(x - h, y) + at(x, y + h) + at(x, y - h) - 4 * at(x, y)) / h**2
    assert laplacian.abs().max() < 1e-5
