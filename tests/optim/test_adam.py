import pytest
import torch

from pinnsig.errors import SettingsError
from pinnsig.optim import Adam


def test_it_follows_torch_step_by_step():
    start = torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64)
    scales = torch.tensor([1.0, 10.0, 0.1], dtype=torch.float64)
    theta = start.clone()
    mine = Adam(0.05)
    reference = start.clone().requires_grad_()
    theirs = torch.optim.Adam([reference], lr=0.05)
    for _ in range(50):
        mine.step(theta, lambda: (float((scales * theta**2).sum()), 2 * scales * theta))
        theirs.zero_grad()
        (scales * reference**2).sum().backward()
        theirs.step()
    torch.testing.assert_close(theta, reference.detach(), rtol=1e-12, atol=1e-12)


def test_a_loss_that_is_not_finite_moves_nothing():
    theta = torch.ones(2)
    step = Adam(0.1).step(theta, lambda: (float("nan"), torch.ones(2)))
    assert step.loss != step.loss
    assert theta.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("rate", [0.0, -1.0, float("inf"), float("nan")])
def test_bad_learning_rates_are_refused(rate):
    with pytest.raises(SettingsError):
        Adam(rate)
