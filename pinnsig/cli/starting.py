"""`pinnsig new`: a problem file to start from."""

import ast
import keyword
import re
from importlib import import_module, resources
from pathlib import Path

import click

from pinnsig.cli.examples import examples
from pinnsig.cli.options import FILE
from pinnsig.core.errors import RunError
from pinnsig.core.files import write_reported
from pinnsig.core.registry import unknown

TEMPLATES = ("pde", "ode", "system", "shape", "inverse")
CLASS = "Template"


@click.command()
@click.argument("file", type=FILE)
@click.option("--kind", default="pde", metavar="KIND", help=f"{', '.join(TEMPLATES)}  [pde]")
@examples("pinnsig new heat.py", "pinnsig new oscillator.py --kind ode")
def new(file: Path, kind: str) -> None:
    """Write a commented problem file that solves as it is.

    FILE is where it goes; a file that is there is left alone. Kinds: an equation in space and time
    (pde), an ordinary differential equation (ode), several fields (system), a shape with a hole
    (shape), a coefficient found from measurements (inverse).
    """
    if kind not in TEMPLATES:
        raise click.UsageError(unknown("kind", kind, TEMPLATES))
    if file.suffix != ".py":
        raise click.UsageError(f"{file} must end in .py")
    if file.exists():
        raise click.UsageError(f"{file} is there already: choose another name")
    source = template(kind).replace(f"class {CLASS}(", f"class {class_name(file)}(")
    write_reported(file, source.encode(), RunError)
    click.echo(f"{file}: {template_about(kind)}\n")
    click.echo(f"  pinnsig solve {file}       # train, measure the error, draw")
    click.echo(f"  pinnsig problems {file}    # how it is understood")


def template(kind: str) -> str:
    """Return the text of a problem file whose class is called `Template`."""
    return resources.files("pinnsig.cli.templates").joinpath(f"{kind}.py").read_text("utf-8")


def template_about(kind: str) -> str:
    """Return what a template shows, in a line."""
    return (ast.get_docstring(ast.parse(template(kind))) or "").partition("\n")[0]


def class_name(file: Path) -> str:
    """Return the name of a class for a file: `my_heat.py` has `MyHeat`."""
    words = re.findall(r"[A-Za-z0-9]+", file.stem)
    name = "".join(word[0].upper() + word[1:] for word in words)
    taken = {value for value in vars(import_module("pinnsig.problem")) if value[0].isupper()}
    if not name.isidentifier() or keyword.iskeyword(name) or name in taken:
        name = f"My{name or 'Problem'}"
    return name
