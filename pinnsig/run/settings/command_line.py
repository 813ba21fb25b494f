"""Settings as the command line takes them."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pinnsig.core.json import dumps


def command_line(words: Sequence[str], settings: Mapping[str, Any]) -> str:
    """Return a whole command: its words after `pinnsig`, then settings as flags."""
    return shlex.join(["python", "-m", "pinnsig", *words, *flags(settings)])


def flags(settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield settings by name as words of a command."""
    for name, value in settings.items():
        flag = "--phase" if name == "phases" else f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            yield flag if value else flag.replace("--", "--no-", 1)
        elif name == "scaling" and isinstance(value, Mapping):
            yield from (flag, dumps(value))
        elif isinstance(value, Mapping):
            for key, one in value.items():
                yield from (flag, f"{key}={_text(one)}")
        else:
            for one in value if isinstance(value, list | tuple) else [value]:
                yield from (flag, _text(one))


def _text(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    short = f"{value:g}"
    return short if float(short) == value else f"{value:.17g}"
