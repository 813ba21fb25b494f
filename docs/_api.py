"""Pages of the Python interface: every public name of every package, each in one place."""

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from _copied import write

PACKAGES = {
    "pinnsig": "Solve, load, resume and sweep.",
    "pinnsig.geometry": "Domains: shapes, their unions and differences, products with time.",
    "pinnsig.problem": "What a problem is made of: conditions, coefficients, data, references.",
    "pinnsig.activations": "Activations and their algebra.",
    "pinnsig.activations.ir": "Expressions that an activation of one's own is written in.",
    "pinnsig.calibration": "Numbers from an activation: sigma*, p(L), edge of chaos.",
    "pinnsig.initializers": "Weights to start from.",
    "pinnsig.networks": "Networks, and what a network of one's own derives from.",
    "pinnsig.sampling": "Points inside and on boundaries.",
    "pinnsig.derivatives": "Engines for partials, and quantities that know their partials.",
    "pinnsig.model": "A problem with its network.",
    "pinnsig.objective": "The loss, its gradient and its Jacobian.",
    "pinnsig.objective.rows": "Rows of the Jacobian.",
    "pinnsig.optim": "Optimisers.",
    "pinnsig.training": "Phases, limits and the loop.",
    "pinnsig.training.weighting": "Loss weights that are found in training.",
    "pinnsig.signal": "What a fresh network does to a signal.",
    "pinnsig.plots": "Figures of arrays.",
    "pinnsig.run": "A run: its settings, callbacks, results and directory.",
    "pinnsig.reports": "Reports of runs and sweeps as one HTML file.",
    "pinnsig.run.judging": "What is said of an answer: errors, doubts.",
    "pinnsig.run.export": "Runs as files and models of other programs.",
    "pinnsig.run.trackers": "Runs followed in other programs.",
    "pinnsig.sweeps": "Grids of runs and their tables.",
    "pinnsig.tuning": "Settings found by search.",
    "pinnsig.classify": "Classifiers of images.",
    "pinnsig.paper": "The figures of the paper.",
    "pinnsig.table": "The table of errors.",
    "pinnsig.testing": "Checks for problems of one's own.",
    "pinnsig.core.errors": "Errors.",
}
"""Packages with a page, in the order of the pages."""

RUN = {
    "pinnsig.run.callbacks": ["Callback"],
    "pinnsig.run.directory": ["RunDirectory"],
    "pinnsig.run.loading": ["TrainedModel", "load"],
    "pinnsig.run.results": ["Result"],
    "pinnsig.run.settings": ["GivenSettings", "Settings", "read_config", "resolve"],
    "pinnsig.run.solver": ["resume", "solve"],
}
"""`pinnsig.run` has no list of public names: these are."""


def public_names(package: str) -> Iterator[tuple[str, Any]]:
    """Yield the public names of a package with what they name."""
    if package == "pinnsig.run":
        for module, names in RUN.items():
            for name in names:
                yield (
                    f"{module.removeprefix('pinnsig.run.')}.{name}",
                    getattr(importlib.import_module(module), name),
                )
        return
    module = importlib.import_module(package)
    names = getattr(module, "__all__", None)
    if names is None:  # a module: what it defines itself
        names = [
            name
            for name, value in vars(module).items()
            if not name.startswith("_") and getattr(value, "__module__", "") == package
        ]
    for name in names:
        if not name.startswith("__"):
            yield name, getattr(module, name)


def is_code(value: Any) -> bool:
    """Whether a value is a class or a function, which has a docstring of its own."""
    return inspect.isclass(value) or inspect.isfunction(value)


def homes() -> dict[int, str]:
    """Return the full name of every public class and function by its identity.

    What several packages export is described in the first of them: what a problem is made of in
    `pinnsig.geometry` and `pinnsig.problem`, what else users call in `pinnsig`.
    """
    found: dict[int, str] = {}
    for package in dict.fromkeys(("pinnsig.geometry", "pinnsig.problem", *PACKAGES)):
        for name, value in public_names(package):
            if is_code(value):
                found.setdefault(id(value), f"{package}.{name}")
    return found


def write_pages(folder: Path) -> None:
    """Write a page for each package; one that is unchanged stays as it is."""
    known = homes()
    for package, about in PACKAGES.items():
        write(folder / f"{package}.rst", page(package, about, known))


def page(package: str, about: str, known: dict[int, str]) -> str:
    """Return a package's page in reStructuredText.

    Args:
        package: its name.
        about: what it is for.
        known: where each class and function is described, by identity.
    """
    lines = [package, "=" * len(package), "", about, "", f".. py:module:: {package}", ""]
    own: list[str] = []
    elsewhere: list[str] = []
    constants: list[str] = []
    for name, value in public_names(package):
        full = f"{package}.{name}"
        if not is_code(value):
            constants += [f".. py:data:: {full}", "   :no-index-entry:", "", *constant(value), ""]
        elif known[id(value)] == full:
            own += [f".. auto{'class' if inspect.isclass(value) else 'function'}:: {full}"]
            if inspect.isclass(value):
                own += ["   :members:", "   :show-inheritance:"]
            own += [""]
        else:
            elsewhere += [f"- :py:obj:`{name} <{known[id(value)]}>`"]
    if elsewhere:
        lines += ["Also here, described elsewhere:", "", *elsewhere, ""]
    lines += own
    if constants:
        lines += ["Values", "-" * 6, "", *constants]
    return "\n".join(lines)


def constant(value: Any) -> list[str]:
    """Return what is said of a value that is no class or function."""
    text = repr(value)
    shown = text if len(text) <= 80 and "object at" not in text else type(value).__name__
    return [f"   ``{shown}``"]


def plain_docstring(*arguments: Any) -> None:
    """Escape what reads as markup in a docstring but is mathematics: ``u_``, ``*``, ``|``.

    A handler of `autodoc-process-docstring`: the second argument is what kind of object it is, the
    last one the list of lines.
    """
    lines: list[str] = arguments[-1]
    if arguments[1] in ("attribute", "property") and lines:
        lines[0] = lines[0].replace(
            ": ", "; ", 1
        )  # what is before a colon would be taken as a type
    for number, line in enumerate(lines):
        parts = re.split(r"(`[^`]*`)", line)
        lines[number] = "".join(
            part if part.startswith("`") else re.sub(r"([*|])|(?<=\w)(_)(?!\w)", escaped, part)
            for part in parts
        )


def escaped(found: re.Match[str]) -> str:
    """Return a sign of markup as itself."""
    return "\\" + found.group(0)


def right_anchors(*arguments: Any) -> None:
    """Point the links of source code to descriptions at the package of the page that has them.

    A handler of `html-page-context`, whose second argument is a page's name and fourth its context.
    viewcode has one package for each module, while classes of a module may be described in several.
    """
    name, context = arguments[1], arguments[3]
    if name.startswith("_modules/") and "body" in context:
        packages = "|".join(map(re.escape, sorted(PACKAGES, key=len, reverse=True)))
        context["body"] = re.sub(
            rf"(generated/api/({packages})\.html)#(?:{packages})\.", r"\1#\2.", context["body"]
        )
