"""The `fused` engine on a GPU: the checks of `fused_checks.py`, compiled, and the paper's shape.

Run by hand with `pytest -m gpu tests/derivatives/test_fused_gpu.py`, without TRITON_INTERPRET.
"""

import importlib.util

import pytest
import torch

from pinnsig.derivatives import NestedEngine
from pinnsig.derivatives.fused import FusedEngine, Tuning
from tests.derivatives.fused_checks import *  # noqa: F403
from tests.derivatives.fused_checks import check, evaluate, inputs, misses, network, plan_of

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
    pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is missing"),
]


@pytest.mark.parametrize("precision", ["tf32x3", "bf16x6", "ieee"])
@pytest.mark.parametrize("name", ["1", "xx t", "t xx yy"])
def test_deep_network_is_as_accurate_as_nested(name, precision):
    plan = plan_of(name)
    check(plan, 5_000, FusedEngine(tuning=Tuning(precision=precision)), depth=50, width=64)


@pytest.mark.parametrize("width", [16, 32, 64, 128])
def test_widths_at_many_points(width):
    check(plan_of("xx t"), 3_001, depth=10, width=width)


def test_two_hundred_layers():
    check(plan_of("xx t"), 500, depth=200, width=32)


def test_deterministic_at_fifty_layers():
    plan = plan_of("xx t")
    net = network(plan, depth=50, width=64)
    points, cotangent = inputs(plan, 20_000)
    engine = FusedEngine(deterministic=True)
    runs = [evaluate(engine, net, points, plan, cotangent) for _ in range(5)]
    for table, gradient in runs[1:]:
        assert torch.equal(table, runs[0][0])
        assert torch.equal(gradient, runs[0][1])


def test_captured_in_a_graph():
    plan = plan_of("xx t")
    net = network(plan, depth=5, width=50)
    points, cotangent = inputs(plan, 1_000)
    engine = FusedEngine()
    expected = evaluate(engine, net, points, plan, cotangent)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        evaluate(engine, net, points, plan, cotangent)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = evaluate(engine, net, points, plan, cotangent)
    graph.replay()
    torch.cuda.synchronize()
    for mine, reference in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, reference, rtol=1e-4, atol=1e-5)


def test_memory_is_the_hidden_stack():
    """One stack a hidden layer is kept, and little more."""
    plan = plan_of("xx t")
    net = network(plan, depth=20, width=64)
    points, cotangent = inputs(plan, 20_000)
    evaluate(FusedEngine(), net, points, plan, cotangent)
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    evaluate(FusedEngine(), net, points, plan, cotangent)
    stack = len(plan) * 20_000 * 64 * 4
    assert torch.cuda.max_memory_allocated() - before <= 30 * stack


def test_misses_of_nested_are_rounding():
    """The yardstick itself: float32 nested autograd is as accurate as it should be."""
    plan = plan_of("xx t")
    net = network(plan, depth=50, width=64)
    wide = network(plan, depth=50, width=64, dtype=torch.float64, like=net)
    assert misses(NestedEngine(), net, wide, plan, 2_000).gradient < 1e-4
