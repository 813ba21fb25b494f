"""Flags over a configuration file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from pinnsig.run.settings import COUNTS

CONTRARY = ((("phases",), COUNTS), (COUNTS, ("phases",)), (("init",), ("p", "sigma_b")))
"""Flags, and what they take the place of in a file."""


def flags_over_file(
    given: dict[str, Any], flags: Mapping[str, Any], config: Path | None
) -> dict[str, Any]:
    """Return the settings of a file with flags, which take the place of what contradicts them.

    What is dropped of the file is told on stderr.
    """
    chosen = {name: value for name, value in flags.items() if value not in (None, {}, [])}
    for names, others in CONTRARY:
        dropped = {name: given.pop(name) for name in others if set(names) & set(chosen)
                   and given.get(name) not in (None, [])}  # fmt: skip
        if dropped:
            flag = next(name for name in names if name in chosen).replace("phases", "phase")
            old = ", ".join(_shown(name, value) for name, value in dropped.items())
            click.echo(f"notice: --{flag} takes the place of {old} in {config}", err=True)
    for name, value in chosen.items():
        given[name] = {**given.get(name, {}), **value} if isinstance(value, dict) else value
    return given


def _shown(name: str, value: Any) -> str:
    """A setting as a person would name it, in short."""
    return f"{len(value)} phases" if isinstance(value, list) else f"{name} = {value}"
