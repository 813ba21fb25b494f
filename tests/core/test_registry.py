"""Registries: what is known by name, whose name it is, and what to choose for one that is not."""

from importlib.metadata import EntryPoint

import pytest

from pinnsig.activations import ACTIVATIONS
from pinnsig.core.errors import PinnsigError, SettingsError
from pinnsig.core.registry import Registry
from pinnsig.derivatives import ENGINES
from pinnsig.initializers import INITIALIZERS
from pinnsig.optim import OPTIMIZERS, SCHEDULES
from pinnsig.paper import FIGURES
from pinnsig.problem import registry as problems
from pinnsig.problem.registry import problem_entries
from pinnsig.sampling import SAMPLERS
from pinnsig.training.weighting import WEIGHTINGS

REGISTRIES = (
    *(ACTIVATIONS, ENGINES, INITIALIZERS, OPTIMIZERS, SCHEDULES, FIGURES, SAMPLERS, WEIGHTINGS),
    problem_entries(),
)


class Tool:
    pass


class Other:
    pass


def test_reads_as_a_mapping_in_the_order_of_registration():
    tools: Registry[type] = Registry("tool", SettingsError, {"saw": Tool})
    assert tools.register("axe", Other) is Other
    assert dict(tools) == {"saw": Tool, "axe": Other}
    assert (list(tools), len(tools), "axe" in tools, tools.get("pen")) == (
        ["saw", "axe"],
        2,
        True,
        None,
    )
    assert tools.unregister("saw") is Tool
    assert list(tools) == ["axe"]


@pytest.mark.parametrize(
    ("taken", "other", "named"),
    [
        (Tool, Other, (r"test_registry\.Tool", r"test_registry\.Other")),
        (Tool(), Tool(), (r"test_registry\.Tool", r"test_registry\.Tool")),
        (EntryPoint("saw", "a:B", "g"), EntryPoint("saw", "c:D", "g"), ("'a:B'", "'c:D'")),
    ],
)
def test_a_taken_name_is_refused_and_both_are_named(taken, other, named):
    tools: Registry[object] = Registry("tool", SettingsError)
    tools.register("saw", taken)
    assert tools.register("saw", taken) is taken
    with pytest.raises(SettingsError, match=f"^the name 'saw' is taken by the tool .*{named[0]}.*"
                       f"choose another for .*{named[1]}"):  # fmt: skip
        tools.register("saw", other)
    assert tools["saw"] is taken


@pytest.mark.parametrize("registry", REGISTRIES, ids=lambda registry: registry.what)
def test_unknown_names_are_told_the_nearest_or_all(registry):
    first, *_ = registry
    with pytest.raises(PinnsigError) as raised:
        registry.find(f"{first}x")
    assert type(raised.value) is registry.error
    assert str(raised.value) == f"{registry.what} '{first}x' is unknown: did you mean {first}?"
    with pytest.raises(registry.error) as raised:
        registry.find("§")
    assert str(raised.value) == f"{registry.what} '§' is unknown: known are {', '.join(registry)}"


def test_packages_that_register_one_problem_name_are_both_named(monkeypatch):
    entries = [EntryPoint("heat", f"{package}:Heat", problems.GROUP) for package in ("mine", "his")]
    monkeypatch.setattr(problems, "entry_points", lambda group: entries)
    with pytest.raises(PinnsigError, match="'heat' is taken by the problem .*mine:Heat.*his:Heat"):
        problem_entries()
