"""Weights & Biases as a callback; needs the extra `pinnsig[wandb]`."""

from pathlib import Path
from typing import Any

from pinnsig.core.errors import SettingsError
from pinnsig.core.extras import require_extra
from pinnsig.run.trackers.tracker import Tracker


class WandB(Tracker):
    """Logs a run to Weights & Biases; without network with `mode="offline"` or WANDB_MODE.

    Args:
        project: that the run belongs to.
        group: of runs that belong together; by default the sweep's.
        mode: online, offline or disabled; None as WANDB_MODE says.
        every: iterations between what is logged.
        options: further keywords of `wandb.init`, such as `entity` or `tags`.

    Raises:
        SettingsError: wandb is not installed.
    """

    name = "wandb"

    def __init__(
        self,
        project: str = "pinnsig",
        group: str | None = None,
        mode: str | None = None,
        every: int = 10,
        **options: Any,
    ) -> None:
        super().__init__(every)
        require_extra("wandb", "wandb", "Weights & Biases", SettingsError)
        self.given = {"project": project, "group": group, "mode": mode, **options}
        self._run: Any = None

    def begin(
        self, settings: dict[str, Any], path: Path, entry: str | None, sweep: str | None
    ) -> str:
        """See `Tracker.begin`."""
        import wandb

        options = {"dir": str(path), "name": path.name, **self.given}
        options["group"] = options["group"] or sweep
        options.setdefault("settings", wandb.Settings(console="off"))  # the terminal is the user's
        options.setdefault("reinit", "create_new")  # runs of one process are apart
        self._run = wandb.init(config=settings, id=entry, resume="allow", **options)
        return self._run.id

    def log(self, numbers: dict[str, float], step: int) -> None:
        """See `Tracker.log`."""
        self._run.log(numbers, step=step)

    def end(self, summary: dict[str, Any], figures: list[Path], failed: bool = False) -> None:
        """See `Tracker.end`."""
        import wandb

        self._run.summary.update(summary)
        if figures:
            self._run.log({figure.stem: wandb.Image(str(figure)) for figure in figures})
        self._run.finish(exit_code=int(failed))
