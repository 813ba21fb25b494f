"""Commands that describe without training: problems, activations, networks, init, ..."""

import inspect
import math
from typing import Any

import click
import torch

from pinnsig.activations import ACTIVATIONS, build_activation, check_membership, parse_function
from pinnsig.cli.examples import examples
from pinnsig.cli.options import setting_options
from pinnsig.cli.output import number, print_json, print_pairs, print_table
from pinnsig.core.errors import ProblemError
from pinnsig.model.fields import guarded
from pinnsig.networks import NETWORKS, network_options
from pinnsig.objective import make_blocks
from pinnsig.problem import INTERIOR, Choice, Coefficient, Problem, problem_class, problem_entries
from pinnsig.run.building import build_initializer
from pinnsig.run.settings import GivenSettings, check_settings
from pinnsig.sampling import Counts, draw_sites
from pinnsig.table import Line, entry_of, read_tables

SOME = 1000  # points, more than conditions have faces
JSON = click.option("--json", "as_json", is_flag=True, help="print as JSON")


@click.command()
@click.argument("problem", metavar="[NAME]", required=False)
@JSON
@examples(
    "pinnsig problems",
    "pinnsig problems burgers",
)
def problems(problem: str | None, as_json: bool) -> None:
    """List the registered problems, or describe one.

    NAME is one of them, or a file such as heat.py: its fields, domain, settings, and the terms of
    its loss, as --weight names them.
    """
    if problem is not None:
        _describe(problem, as_json)
        return
    found = {}
    for known in problem_entries():
        try:
            found[known] = _facts(problem_class(known))
        except ProblemError as error:  # another package's fault must not hide the others
            click.echo(f"notice: {error}", err=True)
    if as_json:
        print_json(found)
        return
    rows = []
    for known, p in found.items():
        values = ", ".join(
            f"{key}={number(value)}{' (learned)' if key in p['learned'] else ''}"
            for key, value in p["settings"].items()
        )
        rows.append((known, p["domain"], values, p["about"].partition("\n")[0]))
    print_table(("problem", "domain", "settings", "about"), rows)


def _facts(cls: type[Problem]) -> dict[str, Any]:
    learned = {}
    for name, c in cls.learned().items():
        true = cls().true_values()[name] if callable(c.true) else c.true
        learned[name] = {"start": c.default, "true": true}
    return {
        "fields": list(cls.fields),
        "domain": str(cls.domain),
        "settings": {key: setting.default for key, setting in cls.settings().items()},
        "learned": learned,
        "functions": {name: f.learning for name, f in cls.functions().items()},
        "about": inspect.cleandoc(cls.__doc__ or ""),
    }


def _describe(name: str, as_json: bool) -> None:
    cls = problem_class(name)
    problem = cls()
    terms = guarded(problem, "residual or a condition", lambda: _term_groups(problem))
    facts = _facts(cls)
    if as_json:
        print_json({**facts, "terms": terms})
        return
    click.echo(f"{facts['about']}\n")
    print_pairs(
        {
            "fields": ", ".join(cls.fields),
            "domain": facts["domain"],
            "reference": _reference(cls),
            **_errors(name),
        }
    )
    for key, function in cls.functions().items():
        print_pairs({key: function.learning})
    rows = []
    for key, setting in cls.settings().items():
        words = ""
        if isinstance(setting, Coefficient):
            words = "; ".join(filter(None, (setting.rule, setting.learning)))
        elif isinstance(setting, Choice):
            words = " or ".join(setting.options)
        rows.append((key, setting.default, words))
    if rows:
        click.echo()
        print_table(("setting", "default", ""), rows)
    click.echo()
    print_table(("term", "group"), terms.items())


def _reference(cls: type[Problem]) -> str:
    """What the solution is, by its docstring; for files that hold a solution without one: known."""
    if not cls().has("solution"):
        return "none: the error is estimated"
    name = "solution"  # which the base class does not have
    about = inspect.cleandoc(getattr(cls, name).__doc__ or "known")
    return about.partition("\n\n")[0].replace("\n", " ")


def _errors(name: str) -> dict[str, str]:
    """The lowest error of the tables below runs/table, and the best published one."""
    found = {}
    records = [record for records in read_tables().values() for record in records]
    known = [
        (error, line.record["command"])
        for line in map(Line.of, records)
        if line.problem == name and (error := line.median()) is not None
    ]
    if known:
        found["lowest error"] = "{:.2g}, {}".format(*min(known))
    published = entry_of(name).published
    if published is not None:
        other = f" ({published.other})" if published.other else ""
        found["published"] = f"{published.error:.2g}, {published.source}{other}"
    return found


def _term_groups(problem: Problem) -> dict[str, str]:
    """The group of every term of the loss."""
    sites = draw_sites(problem, Counts(4, SOME, SOME), "lhs", seed=0)
    blocks = make_blocks(problem, sites, torch.zeros((), dtype=torch.float64))
    conditions = problem.terms()
    return {
        term: conditions[block.name].group if block.name in conditions else INTERIOR
        for block in blocks
        for term in block.terms
    }


@click.command()
@JSON
@examples(
    "pinnsig activations",
    "pinnsig activations --json",
)
def activations(as_json: bool) -> None:
    """List the named activations; expressions combine them."""
    facts = {
        name: {
            "expression": f.expression,
            "omega": f.omega if f.odd_sigmoid else None,
            "bound": f.bound if math.isfinite(f.bound) else None,
        }
        for name, f in sorted(ACTIVATIONS.items(), key=lambda item: not item[1].odd_sigmoid)
    }
    if as_json:
        print_json(facts)
        return
    rows = [(name, *row.values()) for name, row in facts.items()]
    print_table(("name", "f(x)", "omega", "bound"), rows)
    click.echo("\nthose without omega are not odd-sigmoid: calibrated and eoc refuse them")
    click.echo("\nand softsign<k> for any real k >= 1, such as softsign2.5")
    click.echo('combine them as in "tanh(10x) + softsign1(10x)/10 + gd(x)"')


@click.command()
@JSON
@examples(
    "pinnsig networks",
    "pinnsig networks --json",
)
def networks(as_json: bool) -> None:
    """List the networks, with the parameters of each."""
    facts = {
        name: {
            "about": inspect.cleandoc(cls.__doc__ or "").partition("\n\n")[0].replace("\n", " "),
            "options": {key: p.default for key, p in network_options(name).items()},
            "settings": dict(cls.usual),
        }
        for name, cls in NETWORKS.items()
    }
    if as_json:
        print_json(facts)
        return
    rows = []
    for name, known in facts.items():
        options = ",".join(f"{key}={number(value)}" for key, value in known["options"].items())
        rows.append((f"{name}:{options}" if options else name, known["about"]))
    print_table(("network", "about"), rows)


class _TakesExpression(click.Command):
    """A command whose argument may start with a minus, as in -tanh(x), and is no option then."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        texts = [text for text in args if text.startswith("-") and "(" in text]
        rest = [text for text in args if text not in texts]
        return super().parse_args(ctx, [*rest, "--", *texts] if texts else rest)


@click.command(cls=_TakesExpression)
@click.argument("activation", metavar="ACT")
@setting_options("scale", "init", "p", "sigma_b", "depth")
@JSON
@examples(
    "pinnsig init tanh --scale 1.3 --depth 50",
    'pinnsig init "tanh(10x) + erf(x)" --init eoc',
)
def init(activation: str, as_json: bool, **flags: Any) -> None:
    """Show the numbers of an initialisation.

    ACT is an activation: a name, or an expression such as "tanh(10x) + erf(x)".
    """
    given = check_settings({"act": activation, **flags})
    settings = GivenSettings(**given)
    f = build_activation(settings.act, settings.scale)
    chosen = build_initializer(settings)
    about = chosen.describe(f, settings.depth).as_dict()
    if as_json:
        print_json(
            {"activation": f.expression, "init": chosen.spec, "depth": settings.depth, **about}
        )
        return
    band = about.pop("band")
    rate = about.pop("learning_rate")
    shown = {"activation": f.expression, "init": chosen.spec, "depth": settings.depth, **about}
    ends = None if band is None else "[{:.6g}, {:.6g}]".format(*band)
    print_pairs({**shown, "learning_rate": rate, "band": ends})


# -h is no option here, nor is any other text with a minus but for those that the command has
AS_TEXT = {"ignore_unknown_options": True, "help_option_names": ["--help"]}


@click.command("check-activation", context_settings=AS_TEXT)
@click.argument("expression", metavar="EXPR")
@JSON
@click.pass_context
@examples(
    'pinnsig check-activation "tanh(x) + 0.1x"',
    'pinnsig check-activation "arctan(2x)"',
)
def check_activation(context: click.Context, expression: str, as_json: bool) -> None:
    """Check EXPR against the odd-sigmoid class.

    Says which of the five conditions of Definition 4.1 it meets, and where one fails; exit code 1
    if one does.
    """
    found = check_membership(parse_function(expression))
    conditions = {c.name: c for c in found.conditions}
    if as_json:
        listed = {n: {"holds": c.holds, "detail": c.detail} for n, c in conditions.items()}
        print_json({"expression": expression, "holds": found.holds, "conditions": listed})
    else:
        rows = [(n, "holds" if c.holds else "fails", c.detail) for n, c in conditions.items()]
        print_table(("condition", "", "where"), rows)
        verdict = "is" if found.holds else "is not"
        click.echo(f"{expression} {verdict} an odd-sigmoid function")
    context.exit(0 if found.holds else 1)
