"""A problem and its network: fields, their partials and their errors."""

from pinnsig.model.model import Model
from pinnsig.model.slabs import SlabModel

__all__ = ["Model", "SlabModel"]
