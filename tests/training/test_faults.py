"""Losses that are not finite, at chosen evaluations of every kind of phase."""

import copy
import math
from typing import Any

import pytest
import torch

from pinnsig.objective import Evaluation, Objective
from pinnsig.objective.rows.filling import TapedRows
from pinnsig.optim import LBFGS, LM, Adam, AdamW, GaussNewtonCG, RAdam, SSBroyden
from pinnsig.training import FINISHED, NON_FINITE, Phase, Trainer
from tests.training.test_trainer import Records, objective


class Faulty(Objective):
    """Gives a bad value at some evaluations, counted from 1."""

    at: tuple[int, ...] = ()
    bad = math.nan
    also_gradient = True

    def evaluate(self, weights=None):
        found = super().evaluate(weights)
        if self.evaluations not in self.at:
            return found
        if self.also_gradient:
            self.flat.gradient.fill_(self.bad)
        return Evaluation(found.loss * 0 + self.bad, found.terms * 0 + self.bad)


def faulty(at, bad=math.nan, also_gradient=True) -> Any:
    made: Any = objective(width=5)
    made.__class__ = Faulty
    made.at, made.bad, made.also_gradient = at, bad, also_gradient
    return made


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("kind", [Adam, AdamW, RAdam])
def test_a_first_order_phase_ends_and_the_next_goes_on_from_the_best(kind, bad):
    made = faulty((6,), bad)
    outcome = Trainer(made, [Phase(kind(1e-3), 20), Phase(LBFGS(), 5)]).run()
    assert [phase.stop for phase in outcome.phases] == [NON_FINITE, FINISHED]
    assert outcome.phases[0].iterations == 5
    assert "learning rate" in (outcome.phases[0].advice or "")
    assert math.isfinite(outcome.best_loss)
    assert outcome.best.isfinite().all()
    assert outcome.last.isfinite().all()


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("at", [(3,), (4,), (3, 4, 5), (7, 9, 11)])
@pytest.mark.parametrize("also_gradient", [True, False])
def test_a_line_search_turns_back_and_training_goes_on(at, bad, also_gradient):
    made = faulty(at, bad, also_gradient)
    watcher = Records()
    outcome = Trainer(made, [Phase(LBFGS(), 15)], watcher).run()
    assert outcome.stop == FINISHED
    losses = [record.loss for record in watcher.seen]
    assert all(map(math.isfinite, losses))
    assert losses == sorted(losses, reverse=True)
    assert outcome.last_loss == outcome.best_loss


def test_a_gradient_alone_that_is_not_finite_does_not_reach_the_answer():
    made = faulty((4,), math.nan)

    def evaluate(weights=None):
        found = Objective.evaluate(made, weights)
        if made.evaluations == 4:
            made.flat.gradient.fill_(math.nan)
        return found

    made.evaluate = evaluate
    outcome = Trainer(made, [Phase(Adam(1e-3), 10), Phase(LBFGS(), 3)]).run()
    assert outcome.phases[0].stop == NON_FINITE
    assert outcome.phases[1].stop == FINISHED
    assert outcome.best.isfinite().all()


def test_an_lbfgs_phase_that_begins_not_finite_ends_at_once():
    made = faulty((5,))  # one at the start, three of Adam, the first of L-BFGS
    outcome = Trainer(made, [Phase(Adam(1e-3), 3), Phase(LBFGS(), 5), Phase(LBFGS(), 2)]).run()
    assert [phase.stop for phase in outcome.phases] == [FINISHED, NON_FINITE, FINISHED]
    assert outcome.phases[1].iterations == 1
    assert outcome.last.isfinite().all()


def test_a_function_that_is_never_finite_again_ends_by_name():
    made = faulty(tuple(range(4, 400)))
    outcome = Trainer(made, [Phase(LBFGS(), 50)]).run()
    assert outcome.stop == "line search failed"
    assert math.isfinite(outcome.last_loss)


class PoisonedGradient(Objective):
    """Its gradient alone is not a number at some evaluations, counted from 1."""

    at: tuple[int, ...] = ()

    def evaluate(self, weights=None):
        found = super().evaluate(weights)
        if self.evaluations in self.at:
            self.flat.gradient[1] = math.nan
        return found


def poisoned(*at) -> Any:
    made: Any = objective(width=5)
    made.__class__ = PoisonedGradient
    made.at = at
    return made


@pytest.mark.parametrize("kind", [LBFGS, SSBroyden, GaussNewtonCG])
def test_a_gradient_that_is_not_finite_ends_the_phase_that_it_enters_by_its_name(kind):
    made = poisoned(5)  # one at the start, three of Adam, the first of the phase
    outcome = Trainer(made, [Phase(Adam(1e-3), 3), Phase(kind(), 5), Phase(kind(), 3)]).run()
    assert [phase.stop for phase in outcome.phases] == [FINISHED, NON_FINITE, FINISHED]
    assert outcome.last.isfinite().all()


def test_rows_that_are_not_finite_end_a_phase_of_lm(monkeypatch: pytest.MonkeyPatch):
    made = objective(width=5)
    fill, calls = TapedRows.fill, []

    def spoilt(self, points, residual, jacobian):
        fill(self, points, residual, jacobian)
        calls.append(0)
        if len(calls) <= 2:
            jacobian.fill_(math.nan)

    monkeypatch.setattr(TapedRows, "fill", spoilt)
    outcome = Trainer(made, [Phase(LM(), 5), Phase(LM(), 3)]).run()
    assert [phase.stop for phase in outcome.phases] == [NON_FINITE, FINISHED]


@pytest.mark.parametrize("kind", [Adam, AdamW, RAdam])
def test_what_the_last_gradient_of_a_phase_spoils_is_not_inherited(kind):
    made = poisoned(11)  # the tenth and last of the first phase: no loss comes after it
    phases = [Phase(kind(1e-3), 10), Phase(kind(1e-3), 20)]
    outcome = Trainer(made, phases).run()
    assert [phase.stop for phase in outcome.phases] == [NON_FINITE, FINISHED]
    assert [phase.iterations for phase in outcome.phases] == [10, 20]
    assert outcome.last.isfinite().all()
    assert outcome.last_loss < made.losses().loss * 1.5


def test_a_state_that_is_not_finite_is_not_gone_on_from():
    made = poisoned(5)
    trainer = Trainer(made, [Phase(Adam(1e-3), 4), Phase(Adam(1e-3), 6)])
    states = []
    trainer.save = lambda state: states.append(copy.deepcopy(state))
    outcome = trainer.run()
    spoilt = next(state for state in states if state["reports"])
    assert spoilt["reports"][-1]["stop"] == NON_FINITE
    assert not spoilt["optimizer"]["mean"].isfinite().all()
    going = Trainer(objective(width=5), [Phase(Adam(1e-3), 4), Phase(Adam(1e-3), 6)])
    going.load(spoilt)
    again = going.run()
    assert again.stop == FINISHED
    assert torch.equal(again.last, outcome.last)


def test_a_best_loss_that_is_lost_by_rounding_is_found_again():
    made = objective(width=5)
    best = Trainer(made, []).best
    best.values.fill_(math.nan)
    best.reassess(made)
    best.note(made, made.losses().terms.tolist())
    assert math.isfinite(best.loss)
    assert best.values.isfinite().all()
