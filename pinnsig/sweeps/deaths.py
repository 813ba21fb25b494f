"""Runs whose process dies: how often without getting further."""

from pinnsig.sweeps.directory import SweepDirectory


class Deaths:
    """Counts deaths of runs, from their checkpoints.

    Args:
        directory: whose members are run.
    """

    def __init__(self, directory: SweepDirectory) -> None:
        self._directory = directory
        self._reached: dict[str, int] = {}  # iterations
        self._kills: dict[str, int] = {}

    def watch(self, name: str) -> None:
        """Note how far a run has got before it is begun."""
        self._reached.setdefault(name, self._directory.reached(name))

    def count(self, name: str) -> int:
        """Count the death of a run; return how many there were since it last got further."""
        before = self._reached[name]
        now = self._reached[name] = self._directory.reached(name)
        self._kills[name] = 0 if now > before else self._kills.get(name, 0) + 1
        return self._kills[name]
