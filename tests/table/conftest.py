"""A list of two problems that train in a moment."""

import pytest

from pinnsig.table import ENTRIES, Budget, Entry, Published, running
from tests.conftest import SMALL

BUDGET = Budget("quick", 60.0, 2)


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of both, of which the second learns a coefficient."""
    names = ["heat", "inverse-heat"]
    monkeypatch.setitem(ENTRIES, "heat", Entry(Published(1e-9, "a method"), SMALL))
    monkeypatch.setitem(ENTRIES, "inverse-heat", Entry(settings={**SMALL, "adam": 2}))
    monkeypatch.setattr(running, "built_in_problems", lambda: names)
    return names
