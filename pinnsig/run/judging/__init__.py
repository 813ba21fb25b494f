"""What a solution is worth at points that it was not trained on."""

from pinnsig.run.judging.baseline import absurd_start, constant_loss, zero_loss
from pinnsig.run.judging.doubts import suspicions
from pinnsig.run.judging.estimate import Estimate, estimate_error
from pinnsig.run.judging.independent import Independent, judge_residuals, residuals_by_term
from pinnsig.run.judging.judgement import Judgement, judge

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
