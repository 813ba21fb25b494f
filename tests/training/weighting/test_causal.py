"""Causal weights: later times wait for earlier ones."""

# causal weights have points in every case
# pyright: reportOptionalMemberAccess=false, reportArgumentType=false

import math

import pytest
import torch

import pinnsig
from pinnsig.activations import tanh
from pinnsig.core.errors import SettingsError
from pinnsig.model import Model
from pinnsig.networks import FFNN
from pinnsig.objective import Objective
from pinnsig.problem import Box, Initial, Problem, Sites
from pinnsig.training.weighting import Attention, Causal, NTKTrace


class Growing(Problem):
    """Its residual is 1 + t for the zero function."""

    domain = Box(t=(0.0, 2.0))

    def residual(self, u, t):
        return u.t - 1 - t

    def conditions(self):
        yield Initial(u=0.0)


def objective(times):
    network = FFNN(1, 1, 1, 4, tanh, torch.float64)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
    points = torch.tensor(times, dtype=torch.float64)[:, None].numpy()
    sites = {"residual": Sites(points), "initial": Sites(points[:1] * 0)}
    return Objective(Model(Growing(), network), "jets", sites)


def test_weights_fall_by_the_losses_of_earlier_times():
    made = objective([0.0, 0.5, 1.0, 1.5])
    scheme = Causal(bins=4, epsilons=(0.5,))
    found = scheme.start(made)
    losses = [1.0, 1.5**2, 4.0, 2.5**2]
    mean = sum(losses) / 4
    by_hand = [math.exp(-0.5 * sum(losses[:i]) / mean) for i in range(4)]
    torch.testing.assert_close(found.points.square(), torch.tensor(by_hand, dtype=torch.float64))
    # what is minimised is weighted, what is reported is not
    evaluated = made.evaluate(found)
    assert float(evaluated.terms[0]) == pytest.approx(mean)
    weighted = sum(w * r for w, r in zip(by_hand, losses, strict=True)) / 4
    assert float(evaluated.loss) == pytest.approx(weighted + float(evaluated.terms[1]))


def test_the_next_epsilon_is_taken_once_all_times_are_trained():
    made = objective([0.25, 0.75, 1.25, 1.75])
    scheme = Causal(bins=4, epsilons=(1.0, 10.0))
    first = scheme.start(made)
    assert scheme.epsilon == 1.0
    small = torch.full((4,), 1e-3, dtype=torch.float64)
    found = scheme.update(made, first, small, 1)
    assert scheme.epsilon == 10.0
    assert float(found.points.min()) > 0.99


def test_weights_stay_until_points_are_drawn_anew():
    made = objective([0.25, 1.75])
    scheme = Causal(bins=2)
    first = scheme.start(made).points
    with torch.no_grad():
        made.flat.values.add_(0.3)
    assert torch.equal(scheme.start(made).points, first)  # as between iterations of a line search
    other = made.rebuild(sites={**made.sites, "residual": Sites(made.sites["residual"].points)})
    assert not torch.equal(scheme.start(other).points, first)


def test_a_state_brings_them_back():
    made = objective([0.25, 1.75])
    scheme = Causal(NTKTrace(), bins=2)
    first = scheme.start(made)
    again = Causal(NTKTrace(), bins=2)
    again.load(scheme.state(), made)
    assert torch.equal(again.start(made).points, first.points)
    assert again.reference == scheme.reference


def test_what_cannot_be_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="both weight points"):
        Causal(Attention())
    with pytest.raises(SettingsError, match="bins = 1"):
        Causal(bins=1)
    with pytest.raises(SettingsError, match="causal weights need time, and x, y are no time"):
        pinnsig.solve("poisson", runs=tmp_path, causal=True, depth=1, width=4, adam=1, lbfgs=0)
