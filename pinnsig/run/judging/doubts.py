"""Reasons to doubt an answer, each in one line with what to try."""

import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType

import numpy as np

from pinnsig.model.evaluation import Comparison, relative_l2
from pinnsig.run.judging.judgement import Judgement

LARGE_ERROR = 0.1
NOTICEABLE_ERROR = 0.01
UNTRAINED = 0.5  # of the loss of the zero function, or of the best constant
SMALL_LOSS = 1e-2  # of the same
OVERFITTED = 10.0  # times the mean square in training
COARSE = 1e-3  # of the integral of an absolute value: what quadrature may be off by
FLAT = 1e-2  # of the largest value, or of 1
MOSTLY_FLAT = 0.95  # share of the grid

LONGER = "more iterations, {more}another start (--p, --init)"
BALANCE = "weights of terms (--weight), conditions built into an ansatz"
DENSER = "more collocation points, or points=rad,every=300 in a phase"


def suspicions(
    comparisons: Mapping[str, Comparison],
    loss: float,
    loss_at_start: float,
    found: Judgement,
    preset: str | None = None,
    scales: Mapping[str, tuple[float, float]] = MappingProxyType({}),
) -> list[str]:
    """Return reasons to doubt an answer; none for one that looks right.

    Where there is a reference, the error against it decides; elsewhere the estimate, also of single
    fields that have none.

    Args:
        comparisons: every field on a grid.
        loss: the best loss.
        loss_at_start: that of the initialised network.
        found: what the judge has.
        preset: of the run, which advice has to go beyond.
        scales: middle and size of fields that are not of order one.
    """
    known = relative_l2(comparisons)
    error, what = known, "relative L2 error"
    if found.estimate is not None:
        fields = found.estimate.fields
        without = [name for name, own in comparisons.items() if own.reference is None]
        guessed = max((fields[name] for name in without if name in fields), default=0.0)
        if known is None:
            guessed = found.estimate.relative_l2
        if known is None or guessed > known:
            error, what = guessed, "estimated relative L2 error"
            if known is not None:
                what += f" of {max(without, key=lambda name: fields.get(name, 0.0))}"
    longer = LONGER.format(
        more="--max-seconds, " if preset == "accurate" else "--preset accurate, "
    )
    return [
        *_not_finite(comparisons, found),
        *_training(loss, loss_at_start, found, error, what, longer),
        *_overfitting(found, error),
        *_unknown(known, found),
        *_flat(comparisons, error, scales),
        *_integrals(found),
        *_coefficients(found),
        *found.failures,
    ]


def _not_finite(comparisons: Mapping[str, Comparison], found: Judgement) -> Iterator[str]:
    for name, comparison in comparisons.items():
        values = comparison.prediction[comparison.inside]
        bad = int(np.count_nonzero(~np.isfinite(values)))
        if bad:
            yield f"{name} is not finite at {bad} of {values.size} grid points"
    if found.independent is None:
        return
    for term, summary in found.independent.terms.items():
        if not math.isfinite(summary["largest"]):
            where = _place(summary["at"])
            yield (
                f"the term {term} is not finite at a point outside of training, {where}: "
                "a square root, logarithm or division in it may fail there"
            )


def _training(
    loss: float, start: float, found: Judgement, error: float | None, what: str, longer: str
) -> Iterator[str]:
    """Whether anything was learned, by the loss and by the error, where there is one.

    A loss has no size of its own: it is small beside that of a function that knows nothing.
    """
    if error is not None and error <= LARGE_ERROR:
        return
    ended = f"the loss ended at {loss:.2e}, at the start it was {start:.2e}"
    against, name = start, "the start"
    if found.baseline is not None and 0 < found.baseline < math.inf:
        against = found.baseline
        name = "the zero function" if against == found.zero_loss else "the best constant"
        ended += f", and {name} has {against:.2e}"
    tail = "" if error is None else f"; the {what} is {error:.2g}"
    if not math.isfinite(loss):
        yield f"not trained: the loss is not finite; try a lower learning rate, {longer}"
    elif loss > UNTRAINED * against or loss >= start:
        yield f"not trained: {ended}{tail}; try {longer}, {BALANCE}"
    elif error is not None and loss <= SMALL_LOSS * against:
        yield (
            f"the {what} is {error:.2g} though the loss fell to {loss / against:.1e} of that of "
            f"{name}: {ended}; a wrong solution may have been found; try {DENSER}, {BALANCE}"
        )
    elif error is not None:
        yield f"not trained to the end: {ended}{tail}; try {longer}, {BALANCE}"


def _overfitting(found: Judgement, error: float | None) -> Iterator[str]:
    """The term, of those that are much larger at independent points, that matters most there."""
    if found.independent is None or (error is not None and error <= NOTICEABLE_ERROR):
        return
    worse = {
        term: summary
        for term, summary in found.independent.terms.items()
        if summary["ratio"] is not None and OVERFITTED < summary["ratio"] < math.inf
    }
    if not worse:
        return
    term = max(worse, key=lambda name: worse[name]["mean_square"])
    summary = worse[term]
    yield (
        f"the mean square of {term} is {summary['ratio']:.3g} times as large at independent points "
        f"as at those of training (the largest value is {summary['largest']:.2g}, at "
        f"{_place(summary['at'])}): it was fitted between too few points; try {DENSER}"
    )


def _unknown(known: float | None, found: Judgement) -> Iterator[str]:
    failed = any("estimate" in failure for failure in found.failures)
    if known is None and found.estimate is None and not failed:
        yield "the error is not known: the residual at independent points tells nothing of it"


def _integrals(found: Judgement) -> Iterator[str]:
    """Integrals whose quadrature is coarse."""
    for term, own in found.quadrature.items():
        if not own.error <= COARSE * own.size and own.error > 0:
            yield (
                f"the integral of the term {term} is off by {own.error:.2g} by its quadrature of "
                f"{own.nodes:,} nodes (that of the absolute value is {own.size:.2g}): try more "
                "nodes="
            )


def _coefficients(found: Judgement) -> Iterator[str]:
    """Learned coefficients that have come to a limit, or are far off."""
    for name, learned in found.coefficients.items():
        if learned.limit is not None:
            yield (
                f"{name} ended at its limit {learned.limit:.6g}: data and equation may ask for "
                "more than it allows; try another limit, or doubt them"
            )
        elif learned.explained and learned.off > LARGE_ERROR and learned.interval is not None:
            low, high = learned.interval
            yield (
                f"{name} = {learned.value:.6g} is uncertain: noise in the data leaves it between "
                f"{low:.6g} and {high:.6g} (95 %); more or better data would tell more"
            )
        elif learned.true is not None and learned.off > LARGE_ERROR:
            yield f"{name} = {learned.value:.6g} is not the true value, {learned.true:.6g}"
        elif learned.true is None and learned.off > LARGE_ERROR:
            yield (
                f"{name} = {learned.value:.6g} is uncertain: by the residuals it is off by "
                f"{learned.estimated:.2g}; try {LONGER}, more data"
            )


def function_suspicions(functions: Mapping[str, Comparison], found: Judgement) -> Iterator[str]:
    """Yield unknown functions that are far off, as suspicions.

    Args:
        functions: every one on a grid.
        found: what the judge has.
    """
    for name, comparison in functions.items():
        error = comparison.relative_l2
        if not np.isfinite(comparison.prediction).all():
            yield f"{name} is not finite at some grid points"
        elif error is not None and error > LARGE_ERROR:
            yield (
                f"{name} is not the true function: its relative L2 error is {error:.2g}; try "
                "more data where it is off, or " + LONGER.format(more="")
            )
        elif error is None and found.estimate is not None:
            guessed = found.estimate.fields.get(name, 0.0)
            if guessed > LARGE_ERROR:
                yield (
                    f"{name} is uncertain: by the residuals its relative L2 error is "
                    f"{guessed:.2g}; try {LONGER.format(more='')}, more data"
                )


def _flat(
    comparisons: Mapping[str, Comparison],
    error: float | None,
    scales: Mapping[str, tuple[float, float]],
) -> Iterator[str]:
    """Fields that are as good as constant, unless the answer is known to be right."""
    if error is not None and error <= NOTICEABLE_ERROR:
        return
    for field, comparison in comparisons.items():
        inside, reference = comparison.inside, comparison.reference
        values = comparison.prediction[inside]
        size = scales[field][1] if field in scales else None
        if reference is not None and _share_flat(reference[inside], size) > MOSTLY_FLAT:
            continue  # so is the truth
        share = _share_flat(values, size)
        if share > MOSTLY_FLAT:
            yield (
                f"{field} is nearly constant ({float(np.median(values)):.3g}) on {share:.0%} of "
                "the domain: a trivial solution may have been found"
            )


def _share_flat(values: np.ndarray, size: float | None) -> float:
    """The share of values within a small distance from their median, beside their size."""
    if not np.isfinite(values).all():
        return 0.0
    size = size or max(float(np.abs(values).max()), 1.0)
    middle = float(np.median(values))
    return float(np.mean(np.abs(values - middle) <= FLAT * size))


def _place(at: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:.4g}" for name, value in at.items())
