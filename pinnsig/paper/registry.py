"""The figures of the paper by name. A new one is a class, and a line here."""

from pinnsig.core.errors import FigureError
from pinnsig.core.registry import Registry
from pinnsig.paper.accuracy_maps import AccuracyMaps
from pinnsig.paper.activation_class import ActivationClass
from pinnsig.paper.base import PaperFigure
from pinnsig.paper.batch_norm import Composite, Deepest, Tanh
from pinnsig.paper.chi import ChiCalibrated, ChiHeatmaps
from pinnsig.paper.data_efficiency import DataEfficiency
from pinnsig.paper.entropy import Entropy
from pinnsig.paper.gradients import GradientNorms
from pinnsig.paper.histograms import HistogramsByDepth, HistogramsByWidth
from pinnsig.paper.learning_rates import ArctanRates, TanhRates
from pinnsig.paper.negative_rates import SigmaStar, SurrogateRate, TargetRate
from pinnsig.paper.network_size import AccuracyByDepth, AccuracyByWidth
from pinnsig.paper.noise_choice import AccuracyByNoise, AccuracyByTargetRate
from pinnsig.paper.output_scales import OutputScales
from pinnsig.paper.pinn_scales import PinnScale
from pinnsig.paper.ranges import ActivationRange
from pinnsig.paper.scalar_maps import Convergence, FixedGain, RandomGains

FIGURES: Registry[PaperFigure] = Registry("figure", FigureError)
"""In the order of the paper."""


def register_figure(figure: PaperFigure) -> None:
    """Make a figure known by its name.

    Raises:
        FigureError: the name is taken.
    """
    FIGURES.register(figure.name, figure)


def find_figure(name: str) -> PaperFigure:
    """Return the figure of that name.

    Raises:
        FigureError: there is none.
    """
    return FIGURES.find(name)


register_figure(ActivationClass())
register_figure(RandomGains())
register_figure(FixedGain())
register_figure(Convergence())
register_figure(SigmaStar())
register_figure(ChiCalibrated())
register_figure(SurrogateRate())
register_figure(TargetRate())
register_figure(Entropy())
register_figure(HistogramsByDepth("tanh"))
register_figure(HistogramsByDepth("0.1*tanh"))
register_figure(HistogramsByDepth("10*tanh"))
register_figure(HistogramsByWidth("tanh"))
register_figure(HistogramsByWidth("0.1*tanh"))
register_figure(HistogramsByWidth("10*tanh"))
register_figure(GradientNorms())
register_figure(ChiHeatmaps())
register_figure(ActivationRange())
register_figure(AccuracyMaps())
register_figure(DataEfficiency())
register_figure(AccuracyByDepth())
register_figure(AccuracyByWidth())
register_figure(AccuracyByTargetRate())
register_figure(AccuracyByNoise())
register_figure(Composite())
register_figure(Tanh())
register_figure(Deepest())
register_figure(ArctanRates())
register_figure(TanhRates())
register_figure(OutputScales("tanh", "1 and 2"))
register_figure(OutputScales("arctan", "3 and 4"))
register_figure(OutputScales("softsign2", "5 and 6"))
register_figure(PinnScale("black-scholes-scale"))
register_figure(PinnScale("burgers-scale"))
