"""Methods that linearise the residuals: Levenberg-Marquardt, and its matrix-free form."""

from pinnsig.optim.gauss_newton.levenberg_marquardt import LM, NO_STEP
from pinnsig.optim.gauss_newton.matrix_free import GaussNewtonCG

__all__ = ["LM", "NO_STEP", "GaussNewtonCG"]
