"""Choosing a device: what is refused, and what `auto` takes."""

import pytest
import torch

from pinnsig.core.devices import choose_device
from pinnsig.core.errors import DeviceError


@pytest.mark.parametrize(
    ("cuda", "mps", "dtype", "chosen"),
    [
        (True, False, "float64", "cuda"),
        (False, True, "float32", "mps"),
        (False, True, "float64", "cpu"),
        (False, False, "float32", "cpu"),
    ],
)
def test_auto(monkeypatch: pytest.MonkeyPatch, cuda: bool, mps: bool, dtype: str, chosen: str):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert choose_device("auto", dtype).type == chosen


def test_a_numbered_card(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert str(choose_device("cuda:1", "float32")) == "cuda:1"
    with pytest.raises(DeviceError, match="cuda:0 to cuda:1"):
        choose_device("cuda:2", "float32")


@pytest.mark.parametrize(
    "name", ["tpu", "cuda:", "cuda:x", "cuda:-1", "cpu:0", "mps:1", "CPU", ":"]
)
def test_unknown(name: str):
    with pytest.raises(DeviceError, match="unknown: choose auto"):
        choose_device(name, "float32")


def test_absent(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    for name in ("cuda", "cuda:0", "mps"):
        with pytest.raises(DeviceError, match="not available on this machine"):
            choose_device(name, "float32")
    with pytest.raises(DeviceError, match="mps has no float64"):
        choose_device("mps", "float64")
