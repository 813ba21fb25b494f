"""The table of a sweep, as what other programs take."""

import sys
from pathlib import Path

import pytest

from pinnsig.core.errors import SettingsError
from pinnsig.sweeps import SweepTable

ROWS = [{"seed": 0, "status": "done", "loss": 0.5}, {"seed": 1, "status": "failed", "loss": None}]


def test_a_table_is_a_frame(monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("pandas", reason="pandas is not installed")
    table = SweepTable(ROWS, ["seed"], Path("sweep"))
    frame = table.to_pandas()
    assert list(frame.columns) == ["seed", "status", "loss"]
    assert frame["seed"].tolist() == [0, 1]
    assert frame["loss"].isna().tolist() == [False, True]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SettingsError, match=r"pip install 'pinnsig\[export\]'"):
        table.to_pandas()
