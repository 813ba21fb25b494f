"""The mathematics of initialisation, free of networks.

- `sigma_star`, `negative_rate`, `target_negative_rate`: the calibrated scheme's noise scale.
- `edge_of_chaos`: sigma_w for a given sigma_b, where gradients keep their norm in mean field.
- `layerwise`, `layerwise_chi`, `variance_map`, `chi`: mean-field variance and gradient gain.
- `fixed_point`: the limit xi_a of x -> f(a x).
- `default_learning_rate`, `learning_rate_band`: Adam's learning rate in units of omega;
  `suited_learning_rate` of any activation.
- `gauss_hermite`, `normal_expectation`: expectations over a standard normal variable.

Symbols follow the paper: omega = 1/f'(0), sigma_z, sigma_w, sigma_b, p, chi.
"""

from pinnsig.calibration.edge_of_chaos import EdgeOfChaos, bias_variance, edge_of_chaos
from pinnsig.calibration.fixed_points import fixed_point
from pinnsig.calibration.learning_rate import (
    default_learning_rate,
    learning_rate_band,
    suited_learning_rate,
)
from pinnsig.calibration.mean_field import (
    chi,
    layerwise,
    layerwise_chi,
    second_moments,
    variance_map,
)
from pinnsig.calibration.negative_rate import negative_rate, sigma_star, target_negative_rate
from pinnsig.calibration.quadrature import gauss_hermite, normal_expectation

__all__ = [
    "EdgeOfChaos",
    "bias_variance",
    "chi",
    "default_learning_rate",
    "edge_of_chaos",
    "fixed_point",
    "gauss_hermite",
    "layerwise",
    "layerwise_chi",
    "learning_rate_band",
    "negative_rate",
    "normal_expectation",
    "second_moments",
    "sigma_star",
    "suited_learning_rate",
    "target_negative_rate",
    "variance_map",
]
