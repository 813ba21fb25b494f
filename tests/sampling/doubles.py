"""Samplers in the place of the library's, for one test."""

import pytest

from pinnsig.core.errors import SamplingError
from pinnsig.core.registry import Registry
from pinnsig.sampling import Sampler, samplers


def replace_samplers(monkeypatch: pytest.MonkeyPatch, **others: Sampler) -> None:
    """Make samplers known, or others by the names of those that are, until the test ends."""
    known = Registry("sampler", SamplingError, {**samplers.SAMPLERS, **others})
    monkeypatch.setattr(samplers, "SAMPLERS", known)
