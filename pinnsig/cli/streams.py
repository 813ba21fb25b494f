"""Standard streams that may be closed, or have nobody who reads them.

Training must not end because a word about it has nowhere to go. What could not be written of the
output itself, on a full disk, is an error still.
"""

import errno
import io
import os
import sys
from typing import Any, TextIO

GONE = (errno.EPIPE, errno.EBADF, errno.EIO, errno.ESHUTDOWN)


class Forgiving:
    """A text stream that falls silent once it cannot be written.

    Args:
        stream: where text goes; None for nowhere.

    Attributes:
        fault: what went wrong other than that nobody reads it, such as a full disk.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self.stream = stream
        self.silent = stream is None
        self.fault: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream or sys.__stdout__ or io.StringIO(), name)

    def write(self, text: str) -> int:
        """Write, if there is still a reader."""
        if not isinstance(text, str):  # as click tries, to tell text from binary streams
            raise TypeError(f"text is written here, not {type(text).__name__}")
        self._try("write", text)
        return len(text)

    def flush(self) -> None:
        """Flush, if there is still a reader."""
        self._try("flush")

    def isatty(self) -> bool:
        """Whether a person reads it."""
        return not self.silent and self.stream is not None and self.stream.isatty()

    def _try(self, method: str, *arguments: Any) -> None:
        if self.silent:
            return
        try:
            getattr(self.stream, method)(*arguments)
        except ValueError:  # it was closed
            self.silent = True
        except OSError as error:
            self.silent = True
            if error.errno not in GONE:
                self.fault = error  # not raised here: click swallows it where it only tries


def keep_descriptors() -> None:
    """Open the standard descriptors that are closed, so that no file of a run gets their number."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest that is free
