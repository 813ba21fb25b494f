"""A problem and its network: fields, their partials and their errors."""

from pinnsig.model.model import Model

__all__ = ["Model"]
