"""Loss weights that are found while training."""

from pinnsig.core.errors import SettingsError
from pinnsig.core.registry import Registry
from pinnsig.training.weighting.attention import Attention
from pinnsig.training.weighting.balancing import GradientNorm, NTKTrace, StartTrace
from pinnsig.training.weighting.base import Weighting
from pinnsig.training.weighting.causal import Causal

WEIGHTINGS: Registry[type[Weighting]] = Registry(
    "weighting",
    SettingsError,
    {cls.name: cls for cls in (GradientNorm, NTKTrace, StartTrace, Attention)},
)
"""What the setting `weighting` can name."""

__all__ = [
    "WEIGHTINGS",
    "Attention",
    "Causal",
    "GradientNorm",
    "NTKTrace",
    "StartTrace",
    "Weighting",
]
