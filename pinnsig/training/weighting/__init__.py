"""Loss weights that are found while training."""

from pinnsig.training.weighting.attention import Attention
from pinnsig.training.weighting.balancing import GradientNorm, NTKTrace, StartTrace
from pinnsig.training.weighting.base import Weighting

WEIGHTINGS: dict[str, type[Weighting]] = {
    kind.name: kind for kind in (GradientNorm, NTKTrace, StartTrace, Attention)
}
"""What the setting `weighting` can name."""

__all__ = ["WEIGHTINGS", "Attention", "GradientNorm", "NTKTrace", "StartTrace", "Weighting"]
