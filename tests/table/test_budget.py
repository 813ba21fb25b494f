"""Budgets, and the commands that repeat their runs."""

import shlex

import pytest

from pinnsig.cli import cli
from pinnsig.cli.solving import solve
from pinnsig.core.errors import SettingsError
from pinnsig.run.settings import check_settings
from pinnsig.table import ENTRIES, Budget, Entry

KINDS = Entry(
    settings={
        "set": {"nu": 0.1, "kind": "put"},
        "phases": ["adam:100,lr=0.001", "lm:20,points=rad"],
        "normalize": False,
        "deterministic": True,
        "scale": 1.3,
        "network": "fourier:sigma=0.5",
        "lr": 1 / 3,
        "scaling": {"outputs": {"u": [33.0, 3.0]}, "terms": {"residual": 200.0}},
    }
)


def test_what_is_not_said():
    assert Budget.of() == Budget("accurate", 300.0, 3)
    assert Budget.of("quick") == Budget("quick", 60.0, 3)
    assert Budget.of("quick", 5, 1, "siren") == Budget("quick", 5.0, 1, "siren")


def test_names_tell_budgets_apart():
    budgets = [Budget.of(), Budget.of(seeds=1), Budget.of(seconds=0.5), Budget.of("quick"),
               Budget.of(network="siren"), Budget.of(network="siren:omega_0=5")]  # fmt: skip
    assert budgets[0].name == "accurate-300s-3-seeds"
    assert len({budget.name for budget in budgets}) == len(budgets)
    assert len({budget.runs_name for budget in budgets}) == len(budgets) - 1


@pytest.mark.parametrize(
    "given", [{"preset": "slow"}, {"seconds": 0}, {"seeds": 0}, {"network": "none"}]
)
def test_what_cannot_be(given):
    with pytest.raises(SettingsError):
        Budget.of(**given)


def test_a_command_repeats_the_settings():
    budget = Budget.of(seconds=1e-5)
    words = shlex.split(budget.solve_command("burgers", KINDS))
    assert words[:5] == ["python", "-m", "pinnsig", "solve", "burgers"]
    given = solve.make_context("solve", words[4:]).params
    names = [name for name in budget.settings(KINDS) if given[name] is not None]
    parsed = check_settings({name: given[name] for name in names})
    assert parsed == check_settings(budget.settings(KINDS))


def test_a_network_takes_the_place_of_the_entry_s():
    budget = Budget.of(network="siren")
    assert budget.settings(KINDS)["network"] == "siren"
    words = shlex.split(budget.command())
    assert words[3:] == ["table", "--preset", "accurate", "--seconds", "300", "--seeds", "3",
                         "--network", "siren"]  # fmt: skip
    assert cli.get_command(None, "table").make_context("table", words[4:]).params["seeds"] == 3  # pyright: ignore


@pytest.mark.parametrize("name", ENTRIES)
def test_entries(name):
    entry = ENTRIES[name]
    check_settings(entry.settings)
    assert not {"preset", "max_seconds", "seed", "problem"} & entry.settings.keys()
    if entry.published is not None:
        assert 0 < entry.published.error < 1
        assert entry.published.source
