"""MLflow as a callback; needs the extra `pinnsig[mlflow]`."""

import math
from pathlib import Path
from typing import Any

from pinnsig.core.errors import SettingsError
from pinnsig.core.extras import require_extra
from pinnsig.core.json import dumps
from pinnsig.run.trackers.tracker import Tracker

MOST = 500  # characters of a parameter that MLflow keeps


class MLflow(Tracker):
    """Logs a run to MLflow: a server, or a folder of files.

    Args:
        uri: of the tracking server or store; None as MLFLOW_TRACKING_URI says, else as
            MLflow itself decides.
        experiment: that the run belongs to.
        group: a tag of runs that belong together; by default the sweep's.
        every: iterations between what is logged.

    Raises:
        SettingsError: MLflow is not installed.
    """

    name = "mlflow"

    def __init__(
        self,
        uri: str | None = None,
        experiment: str = "pinnsig",
        group: str | None = None,
        every: int = 10,
    ) -> None:
        super().__init__(every)
        require_extra("mlflow", "mlflow", "MLflow", SettingsError)
        self.uri, self.experiment, self.group = uri, experiment, group
        self._client: Any = None
        self._run = ""

    def begin(
        self, settings: dict[str, Any], path: Path, entry: str | None, sweep: str | None
    ) -> str:
        """See `Tracker.begin`."""
        from mlflow.tracking import MlflowClient

        client = self._client = MlflowClient(self.uri)
        if entry is None:
            known = client.get_experiment_by_name(self.experiment)
            number = known.experiment_id if known else client.create_experiment(self.experiment)
            group = self.group or sweep
            tags = {"pinnsig.run": str(path)} | ({"pinnsig.group": group} if group else {})
            entry = client.create_run(number, run_name=path.name, tags=tags).info.run_id
            for name, value in settings.items():
                text = value if isinstance(value, str) else dumps(value)
                client.log_param(entry, name, text[:MOST])
        else:
            client.update_run(entry, status="RUNNING")
        self._run = str(entry)
        return self._run

    def log(self, numbers: dict[str, float], step: int) -> None:
        """See `Tracker.log`."""
        for name, value in numbers.items():
            if math.isfinite(value):
                self._client.log_metric(self._run, _key(name), value, step=step)

    def end(self, summary: dict[str, Any], figures: list[Path], failed: bool = False) -> None:
        """See `Tracker.end`."""
        for name, value in summary.items():
            if isinstance(value, int | float):
                self._client.log_metric(self._run, f"final/{_key(name)}", float(value))
            else:
                self._client.set_tag(self._run, name, str(value))
        for figure in figures:
            self._client.log_artifact(self._run, str(figure), "figures")
        self._client.set_terminated(self._run, "FAILED" if failed else "FINISHED")


def _key(name: str) -> str:
    """A name with letters that MLflow allows."""
    return "".join(c if c.isalnum() or c in "_-./ " else "_" for c in name)
