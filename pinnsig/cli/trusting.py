"""Whether code that came with a run may be run: `--trust`, or a question on a terminal."""

import sys
from collections.abc import Iterable

import click

from pinnsig.core.paths import plain
from pinnsig.core.trust import Trust

TRUST = click.option(
    "--trust", is_flag=True, help="run code that came with the directory, now and later"
)


def trusting(said: bool) -> Trust:
    """What `--trust` said; without it, the user is asked where there is a terminal."""
    terminal = sys.stdin.isatty() and sys.stderr.isatty()
    return _ask if terminal and not said else said


def _ask(facts: str) -> bool:
    return click.confirm(plain(f"{facts}. Trust it?"), default=False, err=True)


def tell(notices: Iterable[str]) -> None:
    """Print notices on stderr, a line each."""
    for notice in notices:
        click.echo(plain(f"notice: {notice}"), err=True)
