"""Recording: on a stand-in for CUDA, which shows the order of calls; the rest needs a GPU."""

import contextlib
import copy

import pytest
import torch

from pinnsig.core.cuda_graphs import WARM_UP, GraphedCallable
from pinnsig.optim import Adam, AdamW, Measured, RAdam, drive

CUDA = torch.device("cuda")


class Stand:
    """Notes what is asked of `torch.cuda`; what is recorded is not run until it is replayed."""

    def __init__(self):
        self.recording, self.replays = False, 0

    def current_stream(self):
        return self

    Stream = CUDAGraph = current_stream

    def wait_stream(self, other):
        pass

    def replay(self):
        self.replays += 1

    @contextlib.contextmanager
    def graph(self, graph):
        self.recording = True
        try:
            yield
        finally:
            self.recording = False

    def device(self, device):
        return contextlib.nullcontext()

    stream = device


@pytest.fixture
def cuda(monkeypatch):
    stand = Stand()
    for name in ("current_stream", "Stream", "CUDAGraph", "graph", "device", "stream"):
        monkeypatch.setattr(torch.cuda, name, getattr(stand, name))
    return stand


def test_every_call_does_the_work_once(cuda):
    done = []

    def work():
        if not cuda.recording:
            done.append(len(done))
        return torch.tensor(1.0)

    recorded = GraphedCallable(work, CUDA)
    for call in range(WARM_UP + 4):
        found = recorded()
        assert found is not None
        assert len(done) + cuda.replays == call + 1
    assert (len(done), cuda.replays) == (WARM_UP, 4)
    assert recorded.notice is None


def test_what_cannot_be_recorded_is_called(cuda):
    done = []

    def work():
        if cuda.recording:
            raise RuntimeError("operation not permitted\nwhen stream is capturing")
        done.append(None)

    recorded = GraphedCallable(work, CUDA)
    for _ in range(WARM_UP + 4):
        recorded()
    assert (len(done), cuda.replays) == (WARM_UP + 4, 0)
    assert recorded.notice == (
        "evaluations are not replayed as a CUDA graph: operation not permitted"
    )


def test_on_a_cpu_nothing_is_recorded():
    done = []
    recorded = GraphedCallable(lambda: done.append(None), torch.device("cpu"))
    for _ in range(WARM_UP + 4):
        recorded()
    assert len(done) == WARM_UP + 4


def step(optimizer, theta, gradient):
    gradient.copy_(torch.sin(theta) + theta)
    return drive(optimizer.step(theta), lambda request: Measured(1.0, 0.0, gradient))


@pytest.mark.parametrize("make", [Adam, AdamW, RAdam])
def test_an_optimiser_that_has_stepped_can_be_copied(make):
    theta, gradient = torch.linspace(-1, 1, 5), torch.zeros(5)
    optimizer = make(0.1)
    for _ in range(3):
        step(optimizer, theta, gradient)
    other, there = copy.deepcopy(optimizer), theta.clone()
    for _ in range(3):
        step(optimizer, theta, gradient)
        step(other, there, torch.zeros(5))
    assert torch.equal(theta, there)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("make", [Adam, AdamW, RAdam])
def test_a_recorded_step_is_a_step(make):
    ends = []
    for device in ("cpu", "cuda"):
        theta = torch.linspace(-1, 1, 1000, dtype=torch.float64, device=device)
        gradient, optimizer = torch.zeros_like(theta), make(0.01)
        for _ in range(50):
            step(optimizer, theta, gradient)
        ends.append(theta.cpu())
    torch.testing.assert_close(*ends, rtol=1e-12, atol=1e-13)
