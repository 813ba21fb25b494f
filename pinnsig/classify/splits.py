"""Which images are trained on and which validate, from a seed."""

import numpy as np
from numpy.typing import NDArray

from pinnsig.core.errors import DatasetError

Indices = NDArray[np.int64]


def split(
    labels: NDArray[np.int64], validation: float, samples: int | None, seed: int
) -> tuple[Indices, Indices]:
    """Return the indices of images to train on, and of those held out for validation.

    Stratified: to within one image, every class has its proportion of the whole among those held
    out, and its proportion of the rest among the samples.

    Args:
        labels: shape (N,).
        validation: the share that is held out.
        samples: how many of the rest are trained on; None for all of it.
        seed: of the choice.

    Raises:
        DatasetError: there are not so many, or too few to have any of both.
    """
    generator = np.random.default_rng(np.random.SeedSequence([seed, 0x51]))
    held = round(validation * len(labels))
    if not 0 < held < len(labels):
        raise DatasetError(f"{len(labels):,} images cannot be split with {validation:g} held out")
    kept, validating = _stratified(labels, np.arange(len(labels)), held, generator)
    if samples is None:
        return kept, validating
    if not 0 < samples <= len(kept):
        raise DatasetError(f"samples = {samples:,} cannot be: {len(kept):,} images are left")
    if samples == len(kept):
        return kept, validating
    return _stratified(labels, kept, samples, generator)[1], validating


def _stratified(
    labels: NDArray[np.int64], among: Indices, count: int, generator: np.random.Generator
) -> tuple[Indices, Indices]:
    """Split indices into the rest and `count` chosen ones, each class in proportion; sorted."""
    classes, sizes = np.unique(labels[among], return_counts=True)
    exact = count * sizes / len(among)
    shares = np.floor(exact).astype(int)
    # the largest remainders take what rounding has left, ties in an order that the seed decides
    ties = generator.permutation(len(classes))
    order = ties[np.argsort(-(exact - shares)[ties], kind="stable")]
    shares[order[: count - shares.sum()]] += 1
    chosen = [
        generator.choice(among[labels[among] == label], share, replace=False)
        for label, share in zip(classes, shares, strict=True)
    ]
    picked = np.sort(np.concatenate(chosen))
    return np.setdiff1d(among, picked, assume_unique=True), picked
