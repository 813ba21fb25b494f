"""TensorBoard as a callback; needs the extra `pinnsig[tensorboard]`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pinnsig.core.errors import SettingsError
from pinnsig.core.json import dumps
from pinnsig.run.building import RunComponents
from pinnsig.run.callbacks import Callback
from pinnsig.run.trackers.numbers import numbers_of
from pinnsig.training import Record

if TYPE_CHECKING:
    from pinnsig.run.results import Result


class TensorBoard(Callback):
    """Writes all that is known of each iteration as scalars: losses, terms, coefficients, ...

    Args:
        folder: where the event files go; None means `tensorboard` in the run directory.

    Raises:
        SettingsError: TensorBoard is not installed.
    """

    optional = True

    def __init__(self, folder: str | Path | None = None) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise SettingsError(
                "TensorBoard is not installed: pip install 'pinnsig[tensorboard]'"
            ) from None
        self.folder = folder
        self._open = SummaryWriter
        self._writer: Any = None

    def started(self, parts: RunComponents, path: Path) -> None:
        """Open the writer and note the settings."""
        self._writer = self._open(str(self.folder or path / "tensorboard"))
        self._writer.add_text("settings", f"```\n{dumps(parts.settings.as_dict(), 2)}\n```")

    def recorded(self, record: Record) -> None:
        """Write one iteration's numbers."""
        for name, value in numbers_of(record).items():
            self._writer.add_scalar(name, value, record.step)

    def finished(self, result: "Result") -> None:
        """Note the result and close the writer."""
        self._writer.add_text("result", f"```\n{dumps(result.data, 2)}\n```")
        self._writer.close()
