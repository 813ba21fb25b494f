import math

import numpy as np
import pytest

from pinnsig.activations import Tanh, sin
from pinnsig.core.errors import ActivationError
from pinnsig.initializers import Calibrated, EdgeOfChaos, He, Xavier
from pinnsig.signal import (
    RandomNetwork,
    gradient_norms,
    health,
    layer_chi,
    normal_inputs,
    profile,
    spread,
)


def test_numbers_are_those_of_the_library():
    f, x = 2.0 * Tanh(), normal_inputs(8, 16)
    report = health(f, Calibrated(p=0.3), 12, 16, x, seed=5)
    network = RandomNetwork(f, Calibrated(p=0.3), 12, 16, seed=5)
    last = network.last(x).numpy()
    assert report.high == last.max() / 2
    assert report.low == last.min() / 2
    assert report.rms == pytest.approx(math.sqrt(np.mean(last**2)) / 2)
    assert report.spread == spread(last, 2.0)
    assert report.profile.variance[-1] == profile(network, x).variance[-1]
    chi = layer_chi(network, x)
    assert report.chis == pytest.approx(chi.measured)
    assert report.chi == pytest.approx(np.exp(np.mean(np.log(chi.measured))))
    assert report.chi_mean_field == pytest.approx(chi.mean_field[-1], rel=1e-5)
    norms = gradient_norms(network, x).numpy()
    assert report.gradient_ratio == pytest.approx(np.median(norms[0] / norms[-1]), rel=0.2)
    assert len(report.gradients) == 12
    assert report.gradients[-1] == 1.0


@pytest.mark.parametrize(
    ("initializer", "scale", "grade", "words"),
    [
        (Calibrated(), 1.0, "good", "come through; the signs of the input are forgotten"),
        (Calibrated(p=None), 1.0, "good", "signal and gradient come through"),
        (Calibrated(p=0.0), 1.0, "good", "nearly every sign is kept"),
        (Xavier(), 0.5, "bad", "vanish"),
        (He(), 1e3, "bad", "saturated"),
        (EdgeOfChaos(sigma_b=0.0), 1e4, "bad", "dies down"),
    ],
)
def test_verdicts(initializer, scale, grade, words):
    report = health(scale * Tanh(), initializer, 50, 64, normal_inputs(32, 64))
    assert report.grade == grade
    assert words in report.verdict


def test_alike_and_exploding():
    inputs = normal_inputs(16, 20)
    ordered = health(Tanh(), EdgeOfChaos(sigma_b=0.5), 600, 20, inputs)
    assert "become alike" in ordered.verdict
    assert "explode" in health(Tanh(), He(), 600, 20, inputs).verdict


def test_gradients_that_are_zero_everywhere():
    report = health(1e9 * Tanh(), Xavier(), 5, 16, normal_inputs(4, 16))
    assert report.grade == "bad"
    assert report.gradient_ratio == 0.0
    assert "gradients vanish" in report.verdict


def test_other_activations_are_refused_in_one_line():
    x = normal_inputs(8, 16)
    for judge in (
        lambda: health(sin, Xavier(), 2, 16, x),
        lambda: profile(RandomNetwork(sin, Xavier(), 2, 16), x),
    ):
        with pytest.raises(ActivationError, match=r"needs an odd-sigmoid .* and sin\(x\) is none"):
            judge()
