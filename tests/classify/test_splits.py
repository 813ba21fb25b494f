"""The split: stratified, whole, and a function of its seed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnsig.classify.splits import split
from pinnsig.core.errors import DatasetError

LABELS = st.lists(st.integers(1, 60), min_size=1, max_size=12).flatmap(
    lambda sizes: st.permutations(np.repeat(np.arange(len(sizes)), sizes).tolist())
)


def spread(labels: np.ndarray, among: np.ndarray, chosen: np.ndarray) -> float:
    """How far the numbers of each class are from their proportion, at most."""
    classes = labels.max() + 1
    exact = np.bincount(labels[among], minlength=classes) * len(chosen) / len(among)
    return float(np.abs(np.bincount(labels[chosen], minlength=classes) - exact).max())


@given(LABELS, st.floats(0.01, 0.99), st.floats(0, 1), st.integers(0, 2**32))
def test_whole_disjoint_and_stratified(listed, share, part, seed):
    labels, everything = np.array(listed), np.arange(len(listed))
    held = round(share * len(labels))
    if not 0 < held < len(labels):
        with pytest.raises(DatasetError, match="cannot be split"):
            split(labels, share, None, seed)
        return
    kept, validating = split(labels, share, None, seed)
    assert sorted([*kept, *validating]) == everything.tolist()
    assert len(validating) == held
    assert spread(labels, everything, validating) < 1
    assert spread(labels, everything, kept) < 1

    samples = max(1, round(part * len(kept)))
    chosen, same = split(labels, share, samples, seed)
    np.testing.assert_array_equal(same, validating)  # whatever is trained on
    assert len(set(chosen)) == samples
    assert set(chosen) <= set(kept)
    assert spread(labels, kept, chosen) < 1


@given(st.integers(0, 2**32), st.integers(0, 2**32))
def test_a_function_of_the_seed(seed, other):
    labels = np.arange(200) % 10
    first, again = split(labels, 0.15, 50, seed), split(labels, 0.15, 50, seed)
    for one, two in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, two)
    if other != seed:
        assert not np.array_equal(first[1], split(labels, 0.15, 50, other)[1])


def test_no_image_is_preferred():
    """Over many seeds, every image is held out about as often: 400 times .15, give or take."""
    labels = np.arange(60) % 3
    held = np.concatenate([split(labels, 0.15, None, seed)[1] for seed in range(400)])
    times = np.bincount(held, minlength=60)
    assert times.min() > 60 - 5 * np.sqrt(400 * 0.15 * 0.85)
    assert times.max() < 60 + 5 * np.sqrt(400 * 0.15 * 0.85)


def test_ties_do_not_favour_the_first_classes():
    """Ten classes, 15 held out: one of each, and five more that the seed chooses."""
    labels = np.arange(100) % 10
    held = np.concatenate([split(labels, 0.15, None, seed)[1] for seed in range(200)])
    counts = np.bincount(labels[held], minlength=10)
    assert counts.min() > 300 - 5 * np.sqrt(200 * 0.25)


def test_the_quick_set():
    """The protocol of the paper's appendix C: 15 % of 500 a class."""
    labels = np.repeat(np.arange(10), 500)
    kept, validating = split(labels, 0.15, None, 0)
    assert np.bincount(labels[kept]).tolist() == [425] * 10
    assert np.bincount(labels[validating]).tolist() == [75] * 10
    assert np.bincount(labels[split(labels, 0.15, 100, 0)[0]]).tolist() == [10] * 10


@pytest.mark.parametrize(
    ("samples", "said"), [(86, "85 images are left"), (10**9, "1,000,000,000")]
)
def test_more_than_there_are(samples, said):
    with pytest.raises(DatasetError, match=said):
        split(np.arange(100) % 10, 0.15, samples, 0)
