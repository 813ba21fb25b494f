import threading

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pinnsig.core.threads import balance, run_shares


@given(st.lists(st.floats(0, 100), max_size=30), st.integers(1, 5))
def test_every_job_is_dealt_once_and_evenly(costs, shares):
    dealt = balance(costs, shares)
    assert sorted(job for share in dealt for job in share) == list(range(len(costs)))
    totals = [sum(costs[job] for job in share) for share in dealt]
    assert max(totals) - min(totals) <= max(costs, default=0) + 1e-9


def test_shares_run_apart_and_come_back_in_order():
    together = threading.Barrier(3, timeout=20)  # passes only if all three run at once

    def work(share):
        together.wait()
        return share, torch.get_num_threads()

    before = torch.get_num_threads()
    assert run_shares(work, 3) == [(0, 1), (1, 1), (2, 1)]
    assert torch.get_num_threads() == before


def test_an_error_in_a_share_reaches_the_caller():
    def work(share):
        if share:
            raise KeyError(share)

    with pytest.raises(KeyError):
        run_shares(work, 2)
