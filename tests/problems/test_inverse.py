"""Inverse problems: the solution and the true coefficients and functions solve them."""

import math

import pytest
import torch
from pinnsig.problems.inverse_burgers import InverseBurgers  # pyright: ignore[reportMissingImports]
from pinnsig.problems.inverse_conductivity import InverseConductivity  # pyright: ignore[reportMissingImports]
from pinnsig.problems.inverse_lorenz import InverseLorenz, reference  # pyright: ignore[reportMissingImports]
from pinnsig.problems.inverse_source import InverseSource  # pyright: ignore[reportMissingImports]

from pinnsig.testing import ProblemChecks


class TestInverseBurgers(ProblemChecks):
    problem = InverseBurgers(lambda_1=1.0, lambda_2=0.05, nu=0.05, points=50)


class TestInverseLorenz(ProblemChecks):
    problem = InverseLorenz(sigma=10.0, rho=15.0, beta=8 / 3)


class TestInverseConductivity(ProblemChecks):
    problem = InverseConductivity


class TestInverseSource(ProblemChecks):
    problem = InverseSource(second=0.3)


def test_the_motion_of_lorenz_converges():
    t = torch.linspace(0, 1, 101, dtype=torch.float64)
    one, two = (torch.stack(reference(3.0, 10.0, 15.0, 8 / 3, finer)(t)) for finer in (1, 2))
    assert float((one - two).abs().max()) < 1e-10


@pytest.mark.parametrize(
    "kind", [InverseBurgers, InverseLorenz, InverseConductivity, InverseSource]
)
def test_noise_is_the_same_each_time_and_as_large_as_asked(kind):
    def measured(noise: float) -> list[torch.Tensor]:
        (data,) = (c for c in kind(noise=noise).terms().values() if c.group == "data")
        names = [n for n in data.columns if n not in kind.domain.names]
        return [torch.as_tensor(data.columns[name]) for name in names]

    exact, noisy, again = measured(0.0), measured(0.1), measured(0.1)
    off = torch.cat([b - a for a, b in zip(exact, noisy, strict=True)])
    assert all(torch.equal(a, b) for a, b in zip(noisy, again, strict=True))
    assert float(off.std()) == pytest.approx(0.1, rel=4 / math.sqrt(2 * len(off)))
