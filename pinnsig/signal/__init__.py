"""What can be said of a network before any training.

- `RandomNetwork`, `normal_inputs`: layers drawn from a seed one by one, at any depth.
- `iterate`, `bifurcation`, `uniform_gains`, `normal_gains`: the scalar map x -> f(a x).
- `surrogate_rate`, `network_rates`: negative rates by Monte Carlo (the closed forms are
  `pinnsig.calibration.negative_rate` and `sigma_star`).
- `surrogate_target`, `fit_exponential`: recalibrate p(L) for an activation and width.
- `effective_gains`, `gain_variance`, `standardised_gains`, `ratio_profile`: gains a_i = h_i / x_i.
- `profile`, `spread`: the signal's way forward.
- `gradient_norms`, `layer_chi`, `singular_values`: the gradient's way back.
- `chi_map`, `depth_scales`: mean-field theory for many noise scales.
- `health`: all of it in one report; `network_health`: of any network.
"""

from pinnsig.signal.backward import (
    Chi,
    end_to_end_singular_values,
    gradient_norms,
    layer_chi,
    layer_jacobian,
    singular_values,
)
from pinnsig.signal.forward import Profile, correlation, log_spaced, profile, sign_changes
from pinnsig.signal.gains import (
    RatioProfile,
    effective_gains,
    gain_variance,
    ratio_profile,
    standardised_gains,
    variance_ratio,
)
from pinnsig.signal.maps import bifurcation, constant_gains, iterate, normal_gains, uniform_gains
from pinnsig.signal.mean_field import DepthScales, Moments, chi_map, depth_scales
from pinnsig.signal.network import Layer, RandomNetwork, normal_inputs
from pinnsig.signal.rates import Rate, network_rates, surrogate_rate
from pinnsig.signal.recalibration import (
    ExponentialFit,
    SurrogateTarget,
    fit_exponential,
    surrogate_target,
)
from pinnsig.signal.report import Health, health
from pinnsig.signal.spread import histogram, spread
from pinnsig.signal.states import network_health

__all__ = [
    "Chi",
    "DepthScales",
    "ExponentialFit",
    "Health",
    "Layer",
    "Moments",
    "Profile",
    "RandomNetwork",
    "Rate",
    "RatioProfile",
    "SurrogateTarget",
    "bifurcation",
    "chi_map",
    "constant_gains",
    "correlation",
    "depth_scales",
    "effective_gains",
    "end_to_end_singular_values",
    "fit_exponential",
    "gain_variance",
    "gradient_norms",
    "health",
    "histogram",
    "iterate",
    "layer_chi",
    "layer_jacobian",
    "log_spaced",
    "network_health",
    "network_rates",
    "normal_gains",
    "normal_inputs",
    "profile",
    "ratio_profile",
    "sign_changes",
    "singular_values",
    "spread",
    "standardised_gains",
    "surrogate_rate",
    "surrogate_target",
    "uniform_gains",
    "variance_ratio",
]
