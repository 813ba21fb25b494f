"""A callback that ends training in good order."""

from pathlib import Path

import pinnsig
from tests.conftest import SMALL


class Stops(pinnsig.Callback):
    def __init__(self, step: int) -> None:
        self.step = step

    def recorded(self, record):
        if record.step >= self.step:
            raise pinnsig.StopTraining("far enough")


class Counts(pinnsig.Callback):
    def __init__(self) -> None:
        self.steps: list[int] = []

    def recorded(self, record):
        self.steps.append(record.step)


def test_it_ends_after_that_iteration_and_the_others_are_told(tmp_path: Path):
    counts = Counts()
    result = pinnsig.solve("heat", runs=tmp_path, figures=False, callbacks=[Stops(4), counts],
                           **SMALL)  # fmt: skip
    assert result.stop == "far enough"
    assert result.data["iterations"] == 4
    assert counts.steps == [0, 1, 2, 3, 4]


def test_asked_at_the_start_it_ends_after_the_first_iteration(tmp_path: Path):
    result = pinnsig.solve("heat", runs=tmp_path, figures=False, callbacks=[Stops(0)], **SMALL)
    assert (result.stop, result.data["iterations"]) == ("far enough", 1)


def test_it_ends_all_slabs_of_a_run(tmp_path: Path):
    flags = {**SMALL, "slabs": 2}
    result = pinnsig.solve("heat", runs=tmp_path, figures=False, callbacks=[Stops(2)], **flags)
    assert (result.stop, result.iterations) == ("far enough", 2)
