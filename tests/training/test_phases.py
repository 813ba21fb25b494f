"""Phases: limits that hold, schedules, precision, what the next phase takes over."""

import math

import pytest
import torch

from pinnsig.core.errors import SettingsError
from pinnsig.objective import Objective
from pinnsig.optim import LBFGS, Adam, RAdam, Schedule
from pinnsig.optim.memory import Memory
from pinnsig.training import (
    ERROR_REACHED,
    EVALUATION_LIMIT,
    FINISHED,
    LOSS_REACHED,
    TIME_LIMIT,
    Limits,
    Phase,
    Trainer,
)
from tests.training.test_trainer import Records, objective


class Spy(Objective):
    """Counts its evaluations by itself."""

    calls = 0

    def evaluate(self, weights=None):
        type(self).calls += 1
        return super().evaluate(weights)


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 10, 17])
@pytest.mark.parametrize("kind", [lambda: Adam(1e-3), LBFGS])
def test_a_limit_on_evaluations_is_exact(kind, limit):
    made = objective(width=5)
    made.__class__, Spy.calls = Spy, 0
    outcome = Trainer(made, [Phase(kind(), 1000, max_evaluations=limit)]).run()
    assert Spy.calls == 1 + limit  # and the one before training
    assert outcome.phases[0].evaluations == limit
    assert outcome.stop == EVALUATION_LIMIT


def test_a_time_limit_on_a_phase_leaves_the_next_one_its_turn():
    phases = [Phase(Adam(1e-4), 10**6, max_seconds=0.2), Phase(LBFGS(), 3)]
    outcome = Trainer(objective(width=5), phases).run()
    assert [p.stop for p in outcome.phases] == [TIME_LIMIT, FINISHED]
    assert outcome.phases[0].seconds < 0.4


def test_a_time_limit_on_all_ends_all():
    phases = [Phase(Adam(1e-4), 10**6), Phase(LBFGS(), 3)]
    outcome = Trainer(objective(width=5), phases, limits=Limits(seconds=0.2)).run()
    assert [p.stop for p in outcome.phases] == [TIME_LIMIT]


def test_a_loss_that_is_low_enough_ends_a_phase_or_all():
    start = float(objective(width=8).losses().loss)
    phases = [Phase(LBFGS(), 500, stop_loss=start / 10), Phase(Adam(1e-5), 2)]
    watcher = Records()
    outcome = Trainer(objective(width=8), phases, watcher).run()
    assert [p.stop for p in outcome.phases] == [LOSS_REACHED, FINISHED]
    losses = [r.loss for r in watcher.seen if r.phase == "lbfgs"]
    assert losses[-1] <= start / 10 < losses[-2]
    outcome = Trainer(objective(width=8), phases, limits=Limits(loss=start / 5)).run()
    assert [p.stop for p in outcome.phases] == [LOSS_REACHED]


def test_an_error_that_is_low_enough_ends_all():
    errors = iter([0.5, 0.4, 0.05, 0.01])
    trainer = Trainer(
        objective(width=5),
        [Phase(Adam(1e-4), 100), Phase(LBFGS(), 3)],
        limits=Limits(error=0.1),
        error=lambda: next(errors),
        error_every=4,
    )
    outcome = trainer.run()
    assert [(p.stop, p.iterations) for p in outcome.phases] == [(ERROR_REACHED, 8)]


def test_the_schedule_reaches_the_learning_rate():
    watcher = Records()
    phase = Phase(Adam(1e-3), 10, schedule=Schedule("cosine", final=0.1, warmup=2))
    Trainer(objective(width=5), [phase], watcher).run()
    rates = [record.learning_rate for record in watcher.seen[1:]]
    assert rates[:3] == pytest.approx([5e-4, 1e-3, 1e-3])
    assert rates[-1] == pytest.approx(1e-4)


def single():
    made = objective(width=8)
    return made.rebuild(dtype=torch.float32)


def test_a_float64_phase_takes_points_weights_and_history_over():
    made = single()
    phases = [Phase(LBFGS(history=6), 12), Phase(LBFGS(history=6), 12, dtype=torch.float64)]
    trainer = Trainer(made, phases)
    outcome = trainer.run()
    first, second = (phase.optimizer for phase in trainer.phases)
    assert isinstance(first, LBFGS)
    assert isinstance(second, LBFGS)
    assert outcome.best.dtype == outcome.last.dtype == torch.float64
    assert trainer.objective.blocks[0].points.dtype == torch.float64
    assert isinstance(first.curvature, Memory)
    assert isinstance(second.curvature, Memory)
    assert first.curvature.pairs.dtype == torch.float32
    assert second.curvature.pairs.dtype == torch.float64
    assert len(second.curvature) == 6
    exact = objective(width=8)
    exact.flat.restore(outcome.last)
    assert float(exact.losses().loss) == pytest.approx(outcome.last_loss, rel=1e-12)


def test_history_makes_the_next_phase_better_than_a_cold_start():
    phases = [Phase(LBFGS(), 40), Phase(LBFGS(), 10)]
    warm = Trainer(objective(width=8), phases).run()
    straight = Trainer(objective(width=8), [Phase(LBFGS(), 50)]).run()
    # another evaluation begins the phase, and that is all
    assert warm.last_loss == pytest.approx(straight.last_loss, rel=1e-9)
    assert warm.phases[1].evaluations + warm.phases[0].evaluations == (
        straight.phases[0].evaluations + 1
    )


def test_float32_that_stops_gets_the_advice_to_widen():
    made = single()
    outcome = Trainer(made, [Phase(LBFGS(change_tolerance=1e-3), 3000)]).run()
    assert outcome.stop == "converged: change"
    assert "lbfgs:500,dtype=float64" in (outcome.phases[0].advice or "")
    outcome = Trainer(objective(width=8), [Phase(LBFGS(change_tolerance=1e-3), 3000)]).run()
    assert outcome.phases[0].advice is None


def test_what_an_optimizer_cannot_have_is_refused():
    for arguments, words in (
        ({"optimizer": LBFGS(), "iterations": 3, "schedule": Schedule("cosine")}, "no learning"),
        ({"optimizer": RAdam(1e-3), "iterations": 3, "every": 2}, "points = fresh says how"),
        ({"optimizer": RAdam(1e-3), "iterations": 3, "max_evaluations": -1}, "-1 evaluations"),
    ):
        with pytest.raises(SettingsError, match=words):
            Phase(**arguments)


@pytest.mark.parametrize("limit", [{"seconds": 0.0}, {"loss": -1.0}, {"error": math.nan}])
def test_limits_are_above_zero(limit):
    with pytest.raises(SettingsError, match="must be above zero"):
        Limits(**limit)


def test_fault_l5_two_evaluations_without_a_step_are_equal():
    made = objective(width=5)
    one, first = made.evaluate(), made.flat.gradient.clone()
    two = made.evaluate()
    assert float(one.loss - two.loss) == 0.0
    assert torch.equal(first, made.flat.gradient)
