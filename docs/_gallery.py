"""A script for each built-in problem, and what sphinx-gallery needs to run and to draw them."""

import inspect
import json
import os
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import torch
from _copied import write
from sphinx_gallery.scrapers import figure_rst

from pinnsig.problem import Problem, problem_class
from pinnsig.run.settings import flags
from pinnsig.table import Entry, Published, entry_of
from pinnsig.table.running import built_in_problems

SECONDS = float(os.environ.get("PINNSIG_DOCS_SECONDS", "6"))
"""What each built-in problem may train for."""

LEFT_OUT = {
    "poisson-100d": (
        "This page is not executed. In 100 dimensions the default training does not solve the "
        "problem: after 120 s the error is 1.0, and the run says so. The settings above take four "
        "minutes. It is here as a yardstick for methods that scale with the dimension."
    )
}

GROUPS = {
    "Heat, waves, transport": "heat heat-2d heat-4d heat-conductivity wave wave-2d klein-gordon "
    "advection convection reaction reaction-diffusion",
    "Nonlinear waves and patterns": "burgers burgers-mild burgers-2d kdv kdv-soliton schrodinger "
    "kuramoto-sivashinsky allen-cahn cahn-hilliard gray-scott ginzburg-landau",
    "Steady equations": "poisson poisson-5d poisson-10d poisson-100d poisson-l poisson-holes gear "
    "helmholtz oscillator",
    "Solids": "beam plate elasticity",
    "Flow": "stokes kovasznay taylor-green beltrami cavity cavity-400 cylinder-wake",
    "Finance": "black-scholes black-scholes-lifted barrier american-put basket",
    "Ordinary differential equations": "lotka-volterra lorenz van-der-pol",
    "Inverse problems": "inverse-heat inverse-burgers inverse-conductivity inverse-lorenz "
    "inverse-source",
}
"""Problems by subject; one that stands nowhere comes under `OTHERS`."""

OTHERS = "Others"

HEADER = """\
The built-in problems
=====================

Each page trains one problem with the default settings for {seconds:g} seconds on one core, then
shows its figures and its error. That is enough to see a problem, not to solve it: where it is
known, the error after 120 seconds stands beside it. ``pinnsig problems NAME`` describes a problem,
``pinnsig table`` makes the table of all errors.
"""

INTRODUCTION = '''\
r"""
{name}
{line}

{about}

{facts}

.. dropdown:: The whole problem is one file, ``problems/{source}``

   .. literalinclude:: /../problems/{source}
      :language: python

.. code-block:: bash

   pinnsig solve {name}{flags}

{left_out}
"""
'''

WORK = """
import pinnsig

result = pinnsig.solve("{name}", max_seconds={seconds:g}{settings})
print(f"relative L2 error  {{result.relative_l2:.1e}}")
print(f"estimated error    {{result.estimated_error or float('nan'):.1e}}")
for name, learned in result.coefficients.items():
    print(f"{{name:18}} {{learned['value']:.6g}}, true {{learned['true']:.6g}}")
print(f"iterations         {{result.iterations}}")
print(f"seconds            {{result.seconds:.0f}}, with set-up and judging")
for doubt in result.suspicious:
    print(doubt)

# %%
# The figures are some of those that every run leaves in its directory, ``result.path``.
"""

SHOWN = ("solution*.png", "function_*.png", "coefficients.png", "loss.png")
"""Of the figures of a run, those on a problem's page."""


def write_scripts(folder: Path, root: Path) -> None:
    """Write a script for each built-in problem, by subject; one that is unchanged stays as it is.

    Args:
        folder: where the scripts go, a subfolder for each subject.
        root: the repository, which has the records of the table.
    """
    names = built_in_problems()
    grouped = {title: text.split() for title, text in GROUPS.items()}
    known = {name for group in grouped.values() for name in group}
    if others := [name for name in names if name not in known]:
        grouped[OTHERS] = others
    records = table_records(root)
    wanted = {folder / "GALLERY_HEADER.rst": HEADER.format(seconds=SECONDS)}
    for number, (title, group) in enumerate(grouped.items(), 1):
        place = folder / f"{number}_{re.sub('[^a-z]+', '_', title.lower())}"
        wanted[place / "GALLERY_HEADER.rst"] = f"{title}\n{'-' * len(title)}\n"
        for name in group:
            wanted[place / f"{file_stem(name)}.py"] = script(name, records.get(name, []))
    for old in folder.glob("**/*.py"):
        if old not in wanted:
            old.unlink()
    for path, text in wanted.items():
        write(path, text)


def file_stem(problem: str) -> str:
    """Return the name of a problem's script, without its end."""
    return problem.replace("-", "_")


def table_records(root: Path) -> dict[str, list[dict[str, Any]]]:
    """Return what the tables of errors know of each problem, a record for each budget."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(root.glob("runs/table/*/*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        found.setdefault(record["problem"], []).append(record)
    return found


def script(name: str, records: list[dict[str, Any]]) -> str:
    """Return the script of a problem: its equation, how to solve it, its figures and its error."""
    cls = problem_class(name)
    entry = entry_of(name)
    introduction = INTRODUCTION.format(
        name=name,
        line="=" * len(name),
        about=plain_rst(inspect.cleandoc(cls.__doc__ or "")),
        facts=facts(cls, entry, records),
        source=Path(inspect.getsourcefile(cls) or "").name,
        flags="".join(f" {shlex.quote(word)}" for word in flags(entry.settings)),
        left_out=LEFT_OUT.get(name, ""),
    )
    if name in LEFT_OUT:
        return introduction
    settings = "".join(f", {key}={value!r}" for key, value in entry.settings.items())
    return introduction + WORK.format(name=name, seconds=SECONDS, settings=settings)


def facts(cls: type[Problem], entry: Entry, records: list[dict[str, Any]]) -> str:
    """Return a list of what is known of a problem: its domain, and errors by whom and how."""
    found = [("domain", plain_rst(str(cls.domain))), ("fields", ", ".join(cls.fields))]
    for record in records:
        errors = [run["relative_l2"] for run in record["runs"] if run.get("relative_l2")]
        if errors:
            budget = record["budget"]
            words = f"{min(errors):.1e} after {budget['seconds']:g} s, preset {budget['preset']}"
            found.append(("error in the table", f"{words} (``{record['command']}``)"))
    if entry.published:
        found.append(("best published error", published(entry.published)))
    return "\n".join(f"- **{key}**: {value}" for key, value in found)


def published(best: Published) -> str:
    """Return a published error in words."""
    other = f"; not the same setting: {plain_rst(best.other)}" if best.other else ""
    of = f", of {best.measure}" if best.measure else ""
    return f"{best.error:.1e}{of}, {plain_rst(best.source)}{other}"


def plain_rst(text: str) -> str:
    """Return a text as reStructuredText that shows it as it is; `names` become code."""
    parts = re.split(r"`([^`]+)`", text)
    for number, part in enumerate(parts):
        code = number % 2
        parts[number] = f"``{part}``" if code else re.sub(r"([\\*`_|])", r"\\\1", part)
    return "".join(parts)


def scrape_run(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:  # noqa: ARG001
    """Show the figures that a problem's run left in its directory (an image scraper)."""
    result = block_vars["example_globals"].get("result")
    if result is None or "sources" not in Path(block_vars["src_file"]).parts:
        return ""
    shown = []
    for pattern in SHOWN:
        for path in sorted((result.path / "figures").glob(pattern)):
            target = next(block_vars["image_path_iterator"])
            shutil.copyfile(path, target)
            shown.append(target)
    # one below the other: side by side they would be small
    return "\n".join(figure_rst([path], gallery_conf["src_dir"]) for path in shown)


def one_thread(gallery_conf: dict[str, Any], fname: str) -> None:  # noqa: ARG001
    """Let each script compute with one thread, since two run at a time (a module reset)."""
    torch.set_num_threads(1)
