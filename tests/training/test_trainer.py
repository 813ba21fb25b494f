import gc
import math

import pytest
import torch

from pinnsig.activations import Tanh
from pinnsig.core.errors import SettingsError, TrainingError
from pinnsig.derivatives import JetsEngine
from pinnsig.initializers import EdgeOfChaos
from pinnsig.model import Model
from pinnsig.networks import FFNN
from pinnsig.objective import Objective
from pinnsig.optim import LBFGS, Adam
from pinnsig.problem import Box, Dirichlet, Problem
from pinnsig.sampling import Counts, draw_sites
from pinnsig.training import (
    FINISHED,
    INTERRUPTED,
    NON_FINITE,
    TIME_LIMIT,
    Limits,
    Phase,
    Trainer,
    Watcher,
)


class Poisson(Problem):
    domain = Box(x=(-1.0, 1.0))

    def residual(self, u, x):
        return u.xx + math.pi**2 * torch.sin(math.pi * x)

    def conditions(self):
        yield Dirichlet(on="x", u=0.0)

    def solution(self, x):
        return torch.sin(math.pi * x)


class Records(Watcher):
    def __init__(self):
        self.seen = []

    def recorded(self, record):
        self.seen.append(record)


def objective(depth=2, width=20, n=65, weight=100.0, problem=None, seed=0):
    network = FFNN(1, 1, depth, width, Tanh(), dtype=torch.float64)
    EdgeOfChaos().fill(network, torch.Generator().manual_seed(seed))
    made = problem or Poisson()
    sites = draw_sites(made, Counts(n, 0, 2), "grid", seed=0)
    return Objective(Model(made, network), JetsEngine(), sites, {"boundary": weight})


def test_fault_l2_lbfgs_goes_on_until_the_answer_is_right():
    made = objective()
    outcome = Trainer(made, [Phase(LBFGS(), 2000)]).run()
    made.flat.restore(outcome.best)
    x = torch.linspace(-1, 1, 401, dtype=torch.float64)
    u, exact = made.model.predict({"x": x})["u"], torch.sin(math.pi * x)
    assert float((u - exact).norm() / exact.norm()) < 1e-5
    assert outcome.stop


def test_fault_l3_iterations_asked_are_a_limit_on_iterations():
    outcome = Trainer(objective(width=5), [Phase(LBFGS(), 23)]).run()
    assert outcome.phases[0].iterations == 23
    assert outcome.phases[0].stop == FINISHED
    assert outcome.phases[0].evaluations >= 23


def test_a_limit_on_evaluations_holds():
    made = objective(width=5)
    outcome = Trainer(made, [Phase(LBFGS(), 100, max_evaluations=7)]).run()
    assert outcome.phases[0].evaluations == 7
    assert outcome.phases[0].stop == "evaluation limit"
    assert made.evaluations == 8  # and the one before training


@pytest.mark.filterwarnings("ignore")
def test_fault_l8_a_torch_optimizer_is_refused_by_name():
    theirs = torch.optim.LBFGS([torch.nn.Parameter(torch.zeros(1))])
    with pytest.raises(TypeError, match="not LBFGS: use Adam"):
        Phase(theirs, 3)  # type: ignore[arg-type]


def test_negative_counts_are_refused():
    with pytest.raises(SettingsError, match="-1 iterations"):
        Phase(Adam(1e-3), -1)


def test_best_and_last_are_kept_apart():
    made = objective(width=8)
    records = Records()
    phases = [Phase(Adam(0.3), 40)]  # a rate so large that the loss jumps about
    outcome = Trainer(made, phases, records).run()
    assert outcome.best_loss <= min(record.loss for record in records.seen)
    assert outcome.last_loss >= outcome.best_loss
    assert float(made.losses().loss) == pytest.approx(outcome.last_loss)
    made.flat.restore(outcome.best)
    best = made.losses()
    assert float(best.loss) == pytest.approx(outcome.best_loss, rel=1e-12)
    assert list(outcome.terms.values()) == pytest.approx(best.terms.tolist(), rel=1e-12)


def test_records_tell_loss_and_terms_of_the_same_parameters():
    made = objective(width=5)
    watcher = Records()
    Trainer(made, [Phase(Adam(1e-3), 3), Phase(LBFGS(), 10)], watcher).run()
    records = watcher.seen
    assert [r.phase for r in records] == ["start"] + ["adam"] * 3 + ["lbfgs"] * 10
    for r in records:
        assert r.loss == pytest.approx(r.terms["residual"] + 100 * r.terms["boundary"], rel=1e-12)
    assert records[1].loss == records[0].loss  # Adam reports the loss before its update
    assert [r.evaluations for r in records] == sorted(r.evaluations for r in records)


class Explosive(Objective):
    """Not a number from the given evaluation on, once."""

    at = 6

    def evaluate(self, weights=None):
        found = super().evaluate(weights)
        if self.evaluations == self.at:
            return type(found)(found.loss * math.nan, found.terms * math.nan)
        return found


def test_a_non_finite_loss_ends_its_phase_and_the_next_goes_on_from_the_best():
    made = objective(width=5)
    made.__class__ = Explosive
    outcome = Trainer(made, [Phase(Adam(1e-3), 20), Phase(LBFGS(), 5)]).run()
    assert [p.stop for p in outcome.phases] == [NON_FINITE, FINISHED]
    assert outcome.phases[0].iterations == 5
    assert math.isfinite(outcome.best_loss)
    assert outcome.best.isfinite().all()


class Rooted(Poisson):
    def residual(self, u, x):
        return torch.where(u > 100, u.xx, torch.sqrt(u - u + 0.0 * x) + u.x)


def test_a_loss_that_is_not_finite_at_the_start_names_its_term():
    with pytest.raises(TrainingError, match="at the start, in: residual"):
        Trainer(objective(problem=Rooted()), [Phase(Adam(1e-3), 2)]).run()


def test_an_interruption_finishes_the_step():
    made = objective(width=5)
    watcher = Records()
    limits = Limits(interrupted=lambda: len(watcher.seen) > 5)
    trainer = Trainer(made, [Phase(Adam(1e-3), 50), Phase(LBFGS(), 50)], watcher, limits)
    outcome = trainer.run()
    assert outcome.stop == INTERRUPTED
    assert outcome.phases[0].iterations == 5
    assert len(outcome.phases) == 1


def test_a_run_is_a_function_of_its_configuration():
    runs = [Trainer(objective(seed=3), [Phase(Adam(1e-3), 5), Phase(LBFGS(), 5)]).run()
            for _ in range(2)]  # fmt: skip
    assert torch.equal(runs[0].last, runs[1].last)


def live_tensors():
    gc.collect()
    return sum(issubclass(type(thing), torch.Tensor) for thing in gc.get_objects())


def test_fault_a6_memory_does_not_grow_with_steps():
    made, counts = objective(width=5), {}

    class Count(Watcher):
        def recorded(self, record):
            if record.iteration in (50, 200):
                counts[record.iteration] = live_tensors()

    Trainer(made, [Phase(Adam(1e-3), 200)], Count()).run()
    assert counts[50] == counts[200]


def test_time_limits_count_training_by_the_clock_that_is_given():
    now = [0.0]

    class Tick(Watcher):
        def recorded(self, record):
            now[0] += 1.0
            times.append(record.seconds)

    times: list[float] = []
    made = objective(width=5)
    trainer = Trainer(
        made, [Phase(Adam(1e-3), 50)], Tick(), Limits(seconds=4.5), clock=lambda: now[0]
    )
    first = trainer.start()
    now[0] += 1000.0  # a slow start is not training
    outcome = trainer.run(first)
    assert (outcome.stop, outcome.phases[0].iterations) == (TIME_LIMIT, 5)
    assert times == [0.0, 0.0, 1.0, 2.0, 3.0, 4.0]
    now[0] += 1000.0
    assert trainer.spent == 0.0


def test_a_phase_has_its_own_time_by_the_same_clock():
    now = [0.0]

    class Tick(Watcher):
        def recorded(self, record):
            now[0] += 1.0

    phases = [Phase(Adam(1e-3), 50, max_seconds=2.5), Phase(LBFGS(), 4)]
    outcome = Trainer(objective(width=5), phases, Tick(), clock=lambda: now[0]).run()
    assert [phase.stop for phase in outcome.phases] == [TIME_LIMIT, FINISHED]
    assert [phase.seconds for phase in outcome.phases] == [3.0, 3.0]


def test_no_phases_give_the_initial_network():
    outcome = Trainer(objective(width=5), []).run()
    assert outcome.best_loss == outcome.last_loss
    assert outcome.stop == FINISHED
