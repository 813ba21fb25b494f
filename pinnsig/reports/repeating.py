"""The commands that repeat a run."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pinnsig.core.errors import PinnsigError
from pinnsig.problem import Problem
from pinnsig.problem.source import CLASS
from pinnsig.reports.page import escape
from pinnsig.run.building import build
from pinnsig.run.settings import Settings, flags, resolve

FOUND = ("device", "engine")  # chosen by what the machine has


def commands(run: Path, config: Mapping[str, Any], short: str | None) -> str:
    """Return them as HTML: the short one, if there is one, and the one from the run's settings.

    A class from Python is known to Python alone.

    Args:
        run: its directory.
        config: its config.json.
        short: from `short_command`.
    """
    source = config.get("source")
    if isinstance(source, Mapping) and source.get("origin") == CLASS:
        name = source.get("kind")
        file = f"{str(run / 'config.json')!r}"
        lines = ["import json, pinnsig", f"settings = json.load(open({file}))",
                 "for name in ('problem', 'environment', 'source'): del settings[name]",
                 f"pinnsig.solve({name}, **settings)"]  # fmt: skip
        return (
            f'<p class="hint">to repeat it, in Python</p><pre>{escape(chr(10).join(lines))}</pre>'
        )
    exact = f"pinnsig solve --config {shlex.quote(str(run / 'config.json'))}"
    lines = [text for text in (short, exact) if text]
    return f'<p class="hint">to repeat it</p><pre>{escape(chr(10).join(lines))}</pre>'


def short_command(settings: Settings, problem: type[Problem]) -> str | None:
    """Return a command with the flags that the preset does not give; None where none says it all.

    Args:
        settings: of a run.
        problem: its class.
    """
    try:
        wanted = build(settings, problem).settings.as_dict()
        base = {"problem": settings.problem, "preset": settings.preset}
        usual = build(resolve(base), problem).settings.as_dict()
        own = {k: v for k, v in wanted.items() if v != usual[k] and k not in FOUND}
        for name in ("set", "weight"):
            if name in own:
                own[name] = {k: v for k, v in own[name].items() if usual[name].get(k) != v}
        if any(value is None or isinstance(value, list) for value in own.values()):
            return None
        said = build(resolve({**base, **own}), problem).settings.as_dict()
    except PinnsigError:
        return None
    if any(said[name] != wanted[name] for name in wanted if name not in FOUND):
        return None
    words = [settings.problem, "--preset", settings.preset, *flags(own)]
    return shlex.join(["pinnsig", "solve", *words])
