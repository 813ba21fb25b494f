"""Classification of images by deep, narrow feed-forward networks (paper, section 5, appendix C).

path, result = classify("mnist-5k", act="tanh", depth=50, width=64)
"""

from pinnsig.classify.datasets import DATASETS, ImageSet, load_images
from pinnsig.classify.running import classify, resume_classifier
from pinnsig.classify.settings import ClassifySettings, resolve
from pinnsig.classify.study import Outcome, study
from pinnsig.classify.training import Epoch, Trained, Training

__all__ = [
    "DATASETS",
    "ClassifySettings",
    "Epoch",
    "ImageSet",
    "Outcome",
    "Trained",
    "Training",
    "classify",
    "load_images",
    "resolve",
    "resume_classifier",
    "study",
]
