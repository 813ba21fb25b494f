import os
import signal

import pytest

from pinnsig.core.interrupts import interruptible

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")


@pytest.fixture(autouse=True)
def _as_before():
    handlers = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_is_a_question_and_the_second_ends_it(number):
    class EndedError(Exception):
        pass

    def end(*_):
        raise EndedError

    signal.signal(number, end)
    told = []
    with interruptible(told.append) as found:
        assert not found.asked()
        signal.raise_signal(number)
        assert found.asked()
        assert (found.signal, told) == (number, [number])
        with pytest.raises(EndedError):
            signal.raise_signal(number)
    assert signal.getsignal(number) is end


def test_a_signal_that_was_ignored_stays_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interruptible(lambda number: None) as found:
        signal.raise_signal(signal.SIGINT)
        assert not found.asked()
        signal.raise_signal(signal.SIGTERM)
        assert found.signal == signal.SIGTERM
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
