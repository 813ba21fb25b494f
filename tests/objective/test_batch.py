"""Objectives evaluated together: every member's terms and gradient are its own."""

import math
from collections.abc import Sequence

import pytest
import torch

from pinnsig.activations import parse_activation
from pinnsig.core import threads
from pinnsig.derivatives import Engine, JetsEngine, NestedEngine
from pinnsig.initializers import Xavier
from pinnsig.model import Model
from pinnsig.model.fields import input_count
from pinnsig.networks import FFNN
from pinnsig.objective import Evaluation, Objective, Weights, chunks
from pinnsig.objective.batch import Batch, Batches, batch_key
from pinnsig.problem import Box, Coefficient, Periodic, Problem
from pinnsig.sampling import Counts, draw_sites
from tests.objective.test_objective import Heat, Inverse, System


class Embedded(Problem):
    domain = Box(x=(-1.0, 1.0), t=(0.0, 1.0))
    c = Coefficient(2.0)

    def features(self, x, t):
        return torch.sin(math.pi * x), torch.cos(math.pi * x), t

    def ansatz(self, n, x, t):
        return torch.sin(math.pi * x) + t * n

    def residual(self, u, x):
        return u.t + self.c * u.x - torch.where(x > 0, u, 0 * u)

    def conditions(self):
        yield Periodic(on="x")


class Idle(System):
    """One of its residuals depends on nothing that is trained."""

    def residual(self, u, v):
        return {"mass": u.t + v.x, "nothing": torch.ones_like(u.value)}


def member(
    problem: Problem,
    seed: int = 0,
    act: str = "tanh",
    dtype: torch.dtype = torch.float64,
    counts: tuple[int, int, int] = (30, 8, 8),
    width: int = 6,
    engine: Engine | str | None = None,
    device: str = "cpu",
    **options,
) -> Objective:
    outputs, inputs = len(problem.outputs), input_count(problem)
    network = FFNN(inputs, outputs, 2, width, parse_activation(act), dtype, device)
    Xavier(sigma_b=0.2).fill(network, torch.Generator().manual_seed(seed))
    sites = draw_sites(problem, Counts(*counts), "lhs", seed=seed)
    return Objective(Model(problem, network), engine or JetsEngine(), sites, **options)


def family(kind: type[Problem], dtype: torch.dtype = torch.float64) -> list[Objective]:
    acts = ("tanh", "1.3*tanh", "0.5*tanh(2x)")
    return [member(kind(), seed, act, dtype) for seed, act in enumerate(acts)]


def asked(objectives: Sequence[Objective]) -> list[tuple[Objective, Weights]]:
    """Each with its own weights."""
    return [(objective, objective.weights) for objective in objectives]


def check(
    objectives: list[Objective],
    answers: Sequence[Evaluation | None],
    rtol: float,
    weights: Sequence[Weights | None] = (None,) * 9,
) -> None:
    """What a batch gave, against evaluations of each alone."""
    for objective, answer, own in zip(objectives, answers, weights, strict=False):
        assert answer is not None
        gradient = objective.flat.gradient.clone()
        objective.flat.gradient.fill_(math.nan)
        alone = objective.evaluate(own)
        torch.testing.assert_close(answer.terms, alone.terms, rtol=rtol, atol=0)
        torch.testing.assert_close(answer.loss, alone.loss)
        off = (gradient - objective.flat.gradient).norm() / objective.flat.gradient.norm()
        assert float(off) <= rtol


@pytest.mark.parametrize("kind", [Heat, System, Embedded, Idle])
@pytest.mark.parametrize(("dtype", "rtol"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_a_batch_gives_what_each_gives_alone(kind, dtype, rtol):
    objectives = family(kind, dtype)
    count = len(objectives[0].term_names)
    weights = [Weights(torch.arange(1.0, 1 + count).double() + i) for i in range(len(objectives))]
    batch = Batch(objectives)
    for _ in range(2):  # the second time at other parameters
        check(objectives, batch.evaluate(weights), rtol, weights)
        for objective in objectives:
            objective.flat.values.mul_(1.1)


def test_chunks_and_threads_change_nothing(monkeypatch):
    objectives = family(Heat)
    monkeypatch.setattr(chunks, "ELEMENTS_CPU", 1)
    monkeypatch.setattr(chunks.Cutter, "threads", lambda self: 2)
    counted = []
    jobs = threads.run_jobs

    def noted(work, n, shared, *more, **named):
        counted.append(shared)
        return jobs(work, n, shared, *more, **named)

    monkeypatch.setattr("pinnsig.objective.batch.run_jobs", noted)
    answers = Batch(objectives).evaluate([o.weights for o in objectives])
    assert counted == [2]
    monkeypatch.undo()
    check(objectives, answers, 1e-12)


def test_the_problem_is_asked_once():
    calls = []

    class Counted(Heat):
        pass

    def residual(self, u):
        calls.append(len(u))
        return Heat.residual(self, u)

    objectives = family(Counted)
    batch = Batch(objectives)
    Counted.residual = residual
    batch.evaluate([o.weights for o in objectives])
    assert calls == [3 * 30]


def test_those_that_belong_together_are_found():
    heat, other = Heat(), Heat(k=0.2)
    objectives = [
        member(heat),
        member(heat, width=7),
        member(Heat(), seed=1, act="2*tanh", weights={"data": 3.0}),
        member(other),
        member(heat, act="erf"),
        member(heat, dtype=torch.float32),
        member(heat, counts=(31, 8, 8)),
        member(heat, act="erf(2x)", seed=3),
        member(System()),
    ]
    answers = Batches(8).evaluate(asked(objectives))
    together = [i for i, answer in enumerate(answers) if answer is not None]
    assert together == [0, 2, 4, 7]
    check([objectives[i] for i in together], [answers[i] for i in together], 1e-12)


def test_who_goes_alone():
    attended = member(Heat())
    alone = [
        member(Inverse()),
        member(Heat(), engine=NestedEngine()),
        member(Heat(), deterministic=True),
    ]
    assert [batch_key(objective) for objective in alone] == [None] * 3
    assert Batches(8).evaluate(asked(alone)) == [None] * 3
    points = Weights(attended.weights.terms, torch.ones(30, dtype=torch.float64))
    pair = [(attended, points), (member(Heat()), points)]
    assert Batches(8).evaluate(pair) == [None] * 2


def test_batches_have_a_largest_size():
    objectives = [member(Heat(), seed) for seed in range(5)]
    answers = Batches(2).evaluate(asked(objectives))
    assert [answer is None for answer in answers] == [False] * 4 + [True]
    check(objectives[:4], answers[:4], 1e-12)


def test_a_batch_is_kept_while_its_members_stay(monkeypatch):
    made = []

    class Noted(Batch):
        def __init__(self, objectives):
            made.append(len(objectives))
            super().__init__(objectives)

    monkeypatch.setattr("pinnsig.objective.batch.Batch", Noted)
    objectives, batches = family(Heat), Batches(8)
    for _ in range(3):
        batches.evaluate(asked(objectives))
    batches.evaluate(asked(objectives[:2]))
    batches.evaluate(asked(objectives))
    assert made == [3, 2, 3]


def test_one_that_is_not_finite_leaves_the_others_alone():
    objectives = family(Heat)
    objectives[1].flat.values[3] = math.nan
    answers = Batches(8).evaluate(asked(objectives))
    assert answers[1] is not None
    assert not answers[1].terms.isfinite().all()
    check([objectives[0], objectives[2]], [answers[0], answers[2]], 1e-12)


def test_a_fault_is_left_to_the_one_whose_it_is():
    class Touchy(Heat):
        def residual(self, u):
            if not u.value.isfinite().all():
                raise ZeroDivisionError("not finite")
            return super().residual(u)

    objectives = family(Touchy)
    objectives[1].flat.values.fill_(math.nan)
    batches = Batches(8)
    assert batches.evaluate(asked(objectives)) == [None] * 3
    with pytest.raises(ZeroDivisionError):
        objectives[1].evaluate()
    answers = batches.evaluate(asked([objectives[0], objectives[2]]))
    check([objectives[0], objectives[2]], answers, 1e-12)


def test_what_only_works_alone_is_not_tried_for_ever():
    calls = []

    class Fixed(Heat):
        pass

    def residual(self, u):
        calls.append(len(u))
        if len(u) > 30:
            raise ValueError("thirty points are all it can do")
        return Heat.residual(self, u)

    objectives, batches = family(Fixed), Batches(8)
    Fixed.residual = residual
    for _ in range(3):
        assert batches.evaluate(asked(objectives)) == [None] * 3
    tried = len(calls)
    assert tried
    for _ in range(3):
        assert batches.evaluate(asked(objectives)) == [None] * 3
    assert len(calls) == tried


def test_without_memory_batches_get_smaller(monkeypatch):
    def full(self, weights):
        raise torch.OutOfMemoryError("CUDA out of memory")

    objectives, batches = [member(Heat(), seed) for seed in range(4)], Batches(8)
    with monkeypatch.context() as patch:
        patch.setattr(Batch, "evaluate", full)
        assert batches.evaluate(asked(objectives)) == [None] * 4
    assert batches.largest == 2
    check(objectives, batches.evaluate(asked(objectives)), 1e-12)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("engine", ["fused", "jets"])
def test_recorded_on_a_gpu(engine):
    """The first evaluation is made as it is, the second recorded, the others replayed."""
    objectives = [
        member(Heat(), seed, act, torch.float32, (3000, 300, 300), 50, engine, "cuda")
        for seed, act in enumerate(("tanh", "1.3*tanh", "0.5*tanh(2x)"))
    ]
    batch = Batch(objectives)
    for _ in range(4):
        check(objectives, batch.evaluate([o.weights for o in objectives]), 1e-4)
        for objective in objectives:
            objective.flat.values.mul_(1.01)
    assert batch.recorded.notice is None
    assert batch.recorded.graph is not None
