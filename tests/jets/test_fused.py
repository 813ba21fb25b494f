"""The `fused` engine on the CPU: what is said without a GPU, and the kernels, interpreted."""

import importlib.util
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from pinnsig.activations import Activation, parse_activation
from pinnsig.jets import Plan
from pinnsig.jets.fused import FORMS, FusedEngine, register_form
from pinnsig.jets.fused.forms import write_activation
from pinnsig.jets.fused.source import write_source
from pinnsig.networks import FFNN

HAS_TRITON = importlib.util.find_spec("triton") is not None


@pytest.mark.skipif(not HAS_TRITON, reason="Triton is not installed: pip install triton")
def test_kernels_in_the_interpreter():
    checks = Path(__file__).with_name("fused_checks.py")
    variables = {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", checks],
        env=os.environ | variables,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert " passed" in done.stdout


@pytest.mark.parametrize("act", ["tanh", "2*tanh(3x)+softsign2.5/2", "gd+erf(0.1x)+arctan"])
def test_source_is_python_without_holes(act):
    plan = Plan.closing(("x", "t"), [(2, 0), (1, 1)])
    source = write_source(parse_activation(act), plan)
    compile(source, "source", "exec")
    assert not [line for line in source.splitlines() if line.strip().startswith("{")]
    assert max(map(len, source.splitlines())) < 1000


def test_without_a_gpu_the_reason_is_said():
    network = FFNN(2, 1, 2, 8, parse_activation("tanh"))
    said = FusedEngine().refusal(network)
    expected = (
        "it needs a CUDA device, and the network is on cpu"
        if HAS_TRITON
        else "it needs Triton, which is not installed"
    )
    if os.environ.get("TRITON_INTERPRET") != "1":
        assert said == expected


@dataclass(frozen=True)
class Unknown(Activation):
    """tanh under another name."""

    slope = 1.0
    bound = 1.0

    def _format(self, argument: str) -> str:
        return f"unknown({argument})"

    def _derivatives(self, x: torch.Tensor, order: int) -> tuple[torch.Tensor, ...]:
        return parse_activation("tanh")._derivatives(x, order)


def test_a_new_activation_is_one_entry():
    f = Unknown().stretch(2.0)
    with pytest.raises(Exception, match=r"activation unknown\(x\) has no kernel form"):
        write_activation(f)
    register_form(Unknown, "return activation0(x)")
    try:
        source, name = write_activation(f)
    finally:
        del FORMS[Unknown]
    assert name == "activation1"
    assert "v0, v1, v2, v3 = activation0(2.0 * x)" in source
