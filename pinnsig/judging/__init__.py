"""What a solution is worth at points that it was not trained on."""

from pinnsig.judging.baseline import absurd_start, constant_loss, zero_loss
from pinnsig.judging.doubts import suspicions
from pinnsig.judging.estimate import Estimate, estimate_error
from pinnsig.judging.independent import Independent, judge_residuals, residuals_by_term
from pinnsig.judging.judgement import Judgement, judge

__all__ = [
    "Estimate",
    "Independent",
    "Judgement",
    "absurd_start",
    "constant_loss",
    "estimate_error",
    "judge",
    "judge_residuals",
    "residuals_by_term",
    "suspicions",
    "zero_loss",
]
