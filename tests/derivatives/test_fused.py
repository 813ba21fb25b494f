"""The `fused` engine on the CPU: what is said without a GPU, and the kernels, interpreted."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pinnsig.activations import join, parse_activation
from pinnsig.derivatives import Plan
from pinnsig.derivatives.fused import FusedEngine
from pinnsig.derivatives.fused.engine import _triton_refusal
from pinnsig.derivatives.fused.operation import interpreting
from pinnsig.derivatives.fused.source import write_source
from pinnsig.networks import FFNN
from tests.derivatives.compiled_kernels import compile_kernel

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


@pytest.mark.skipif(not HAS_TRITON, reason="Triton is not installed: pip install triton")
@pytest.mark.skipif(interpreting(), reason="Triton interprets")
@pytest.mark.parametrize("which", ["forward", "backward"])
@pytest.mark.parametrize(
    ("wanted", "width", "acts"),
    [
        ([(2, 0), (0, 1)], 64, ["tanh(2x)+softsign2.5+erf"]),
        ([(2, 0), (0, 1)], 64, ["sin+gelu+softplus"]),
        ([(0, 0)], 128, ["tanh(2x)+softsign2.5+erf"]),
        ([(2, 0), (0, 1)], 64, ["tanh", "1.3*tanh(2x)"]),  # of several networks
    ],
)
def test_kernels_compile_without_a_gpu(wanted, width, acts, which):
    """What the interpreter lets pass, the compiler may not; it needs no device."""
    plan = Plan.closing(("x", "t"), wanted)
    activation = join([parse_activation(act) for act in acts])
    assert activation is not None
    compiled, _ = compile_kernel(activation, plan, width, which, layers=3)
    assert "mma" in compiled.asm["ptx"]
    assert compiled.metadata.shared <= 99 * 1024  # what every device since 8.0 has


@pytest.mark.parametrize(
    "act",
    ["tanh", "2*tanh(3x)+softsign2.5/2", "gd+erf(0.1x)+arctan", "sin+gelu+softplus+1e300silu"],
)
def test_source_is_python_without_holes(act):
    plan = Plan.closing(("x", "t"), [(2, 0), (1, 1)])
    source = write_source(parse_activation(act), plan)
    compile(source, "source", "exec")
    assert not [line for line in source.splitlines() if line.strip().startswith("{")]
    assert max(map(len, source.splitlines())) < 1000


def test_without_a_gpu_the_reason_is_said(monkeypatch):
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    network = FFNN(2, 1, 2, 8, parse_activation("tanh"))
    said = FusedEngine().refusal(network)
    assert said == "it needs a CUDA device, and the network is on cpu"


def test_without_triton_the_reason_is_said(monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.setitem(sys.modules, "triton.language", None)
    _triton_refusal.cache_clear()
    said = FusedEngine().refusal(FFNN(2, 1, 2, 8, parse_activation("tanh")))
    _triton_refusal.cache_clear()
    assert said is not None
    assert said.startswith("it needs Triton, which cannot be imported (")
