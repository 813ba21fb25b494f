import signal
import sys
import threading

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pinnsig.core.threads import balance, run_jobs

PATIENCE = 20  # seconds, for what a fault would leave waiting


@given(st.lists(st.floats(0, 100), max_size=30), st.integers(1, 5))
def test_every_job_is_dealt_once_and_evenly(costs, shares):
    dealt = balance(costs, shares)
    assert sorted(job for share in dealt for job in share) == list(range(len(costs)))
    totals = [sum(costs[job] for job in share) for share in dealt]
    assert max(totals) - min(totals) <= max(costs, default=0) + 1e-9


def test_jobs_run_apart_and_are_collected_in_order():
    together = threading.Barrier(3, timeout=PATIENCE)  # passes only if all three run at once
    found = []

    def work(job):
        together.wait()
        return job, torch.get_num_threads()

    before = torch.get_num_threads()
    run_jobs(work, 3, 3, found.append)
    assert found == [(0, 1), (1, 1), (2, 1)]
    assert torch.get_num_threads() == before


@given(st.integers(0, 12), st.integers(1, 4))
def test_every_job_is_done_once_and_collected_in_order(jobs, threads):
    begun, found = [], []

    def work(job):
        begun.append(job)
        return job

    run_jobs(work, jobs, threads, found.append)
    assert sorted(begun) == found == list(range(jobs))


def test_a_thread_that_is_held_up_leaves_the_rest_to_the_others():
    rest = threading.Event()
    done = []

    def work(job):
        if job == 0:
            assert rest.wait(PATIENCE)
        done.append(job)
        if len(done) == 5:
            rest.set()

    run_jobs(work, 6, 2)
    assert done == [1, 2, 3, 4, 5, 0]


class BeginningError(Exception):
    """A fault of a certain job."""


@pytest.mark.parametrize("faulty", [(0,), (1,), (0, 1)])
def test_a_fault_ends_all_threads_and_the_first_one_is_raised(faulty):
    both = threading.Barrier(2, timeout=PATIENCE)
    begun, ended = [], []

    def work(job):
        begun.append(job)
        if job < 2:
            both.wait()
        ended.append(job)
        if job in faulty:
            raise BeginningError(job)

    with pytest.raises(BeginningError) as error:
        run_jobs(work, 10**9, 2)  # far more than there is time for
    assert error.value.args == (faulty[0],)
    assert sorted(begun) == sorted(ended)  # nothing is at work any more
    assert {0, 1} <= set(ended)


def test_a_fault_while_collecting_is_raised():
    def refuse(job):
        raise BeginningError(job)

    with pytest.raises(BeginningError):
        run_jobs(lambda job: job, 4, 2, refuse)


@pytest.fixture
def interrupted():
    """Set once Ctrl-C has come."""
    came = threading.Event()

    def handle(number, frame):
        del number, frame
        came.set()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, handle)
    yield came
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("busy", [True, False])
def test_ctrl_c_is_raised_once_no_thread_is_at_work(interrupted, busy):
    """While this thread is at work, or while it waits for the other one."""
    both = threading.Barrier(2, timeout=PATIENCE)
    main, begun = threading.main_thread(), []

    def work(job):
        begun.append(job)
        both.wait()
        if threading.current_thread() is main:
            if busy:
                signal.raise_signal(signal.SIGINT)
            done.set()
            return
        if not busy:
            assert done.wait(PATIENCE)
            assert main.ident is not None
            while sys._current_frames()[main.ident].f_code.co_name != "wait":
                pass
            signal.pthread_kill(main.ident, signal.SIGINT)
        assert interrupted.wait(PATIENCE)
        deserted.append(left.wait(0.05))  # at once if `run_jobs` does not wait for this

    left, done, deserted = threading.Event(), threading.Event(), []
    with pytest.raises(KeyboardInterrupt):
        run_jobs(work, 3 if busy else 2, 2)
    left.set()
    assert sorted(begun) == [0, 1]
    assert deserted == [False]
