"""Problems whose solution is worked out numerically: the common checks, values from elsewhere, and
refinement of each reference against the error that its problem states."""

from pinnsig.problems import (  # pyright: ignore[reportMissingImports]
    allen_cahn,
    kdv,
    lotka_volterra,
    schrodinger,
)

from pinnsig.testing import ProblemChecks


class TestKdV(ProblemChecks):
    problem = kdv.KdV
    condition_tolerance = 1e-11


class TestAllenCahn(ProblemChecks):
    problem = allen_cahn.AllenCahn
    condition_tolerance = 1e-9


class TestSchrodinger(ProblemChecks):
    problem = schrodinger.Schrodinger
    residual_tolerance = 1e-6
    condition_tolerance = 1e-4


class TestLotkaVolterra(ProblemChecks):
    problem = lotka_volterra.LotkaVolterra


def test_look():
    pass
