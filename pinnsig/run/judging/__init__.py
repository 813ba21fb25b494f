"""What a solution is worth at points that it was not trained on."""

from pinnsig.run.judging.baseline import absurd_start, constant_loss, zero_loss
from pinnsig.run.judging.doubts import function_suspicions, suspicions
from pinnsig.run.judging.estimate import Estimate, estimate_error
from pinnsig.run.judging.independent import Independent, judge_residuals, residuals_by_term
from pinnsig.run.judging.judgement import Judgement, judge
from pinnsig.run.judging.uncertainty import Uncertainty, describe_functions, noise_uncertainty

__all__ = [
    "Estimate",
    "Independent",
    "Judgement",
    "Uncertainty",
    "absurd_start",
    "constant_loss",
    "describe_functions",
    "estimate_error",
    "function_suspicions",
    "judge",
    "judge_residuals",
    "noise_uncertainty",
    "residuals_by_term",
    "suspicions",
    "zero_loss",
]
