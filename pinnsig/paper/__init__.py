"""The paper's figures: each computes its data, draws it, and gives a verdict on its claim."""

from pinnsig.paper.base import FAILS, HOLDS, IN_PART, PRESETS, ROOT, PaperFigure, Verdict, verdict
from pinnsig.paper.records import last_record, reproduce
from pinnsig.paper.registry import FIGURES, find_figure, register_figure

__all__ = [
    "FAILS",
    "FIGURES",
    "HOLDS",
    "IN_PART",
    "PRESETS",
    "ROOT",
    "PaperFigure",
    "Verdict",
    "find_figure",
    "last_record",
    "register_figure",
    "reproduce",
    "verdict",
]
