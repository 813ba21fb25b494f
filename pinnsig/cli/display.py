"""What is shown on stderr while a block runs."""

from types import TracebackType
from typing import Self

from rich.live import Live
from rich.progress import Progress


class Display:
    """Shows a live display of rich's while its block runs; nothing where there is none.

    Attributes:
        live: what is shown.
    """

    live: Live | Progress | None = None

    def __enter__(self) -> Self:
        if self.live is not None:
            self.live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.live is not None:
            self.live.stop()
