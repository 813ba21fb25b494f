"""--network on the command line."""

import json

import pytest

from tests.conftest import Cli

SMALL = (
    "--depth", 2, "--width", 6, "--collocation", 30, "--initial", 6, "--boundary", 6, "--adam", 2,
    "--lbfgs", 0,
)  # fmt: skip


def test_networks_are_listed(cli: Cli):
    found = cli("networks", "--json").json()
    assert set(found) >= {"ffnn", "resnet", "modified-mlp", "pirate", "fourier", "siren"}
    assert found["fourier"]["options"] == {"sigma": 0.25, "features": 64}
    assert found["siren"]["settings"] == {"act": "sin", "init": "siren"}
    shown = cli("networks").out
    assert "adaptive:scale=output,per=global  An FFNN of hidden layers" in shown


def test_a_network_is_solved_shown_plotted_and_asked(cli: Cli, tmp_path):
    done = cli("solve", "heat", "--network", "pirate:sigma=0.5", *SMALL, "--runs", tmp_path)
    assert done.code == 0, done.err
    (run,) = (tmp_path / "heat").iterdir()
    assert cli("show", run, "--json").json()["network"] == "pirate:sigma=0.5"
    assert "pirate:sigma=0.5" in cli("show", run).out
    assert str(run / "figures" / "activations.png") in cli("plot", run).out
    (value,) = cli("predict", run, "--at", "x=0.1", "t=0.5", "--json").json()["u"]
    assert isinstance(value, float)
    assert cli("resume", run, "--lbfgs", 2).code == 0


def test_networks_are_an_axis_of_sweeps(cli: Cli, tmp_path):
    path = tmp_path / "sweep"
    networks = "ffnn,resnet:block=1,siren:omega_0=5"
    done = cli("sweep", "heat", "--network", networks, *SMALL, "--out", path, "--workers", 1)
    assert done.code == 0, done.err
    rows = cli("show", path, "--json").json()
    assert [row["network"] for row in rows] == networks.split(",")
    assert [row["init"] for row in rows] == ["calibrated", "calibrated", "siren"]
    assert all(row["status"] == "done" for row in rows)


@pytest.mark.parametrize(
    "network", ["resnet", "modified-mlp", "pirate", "fourier", "adaptive", "siren"]
)
def test_the_health_of_a_network(cli: Cli, tmp_path, network):
    act = "sin" if network == "siren" else "tanh"
    given = ("signal", act, "--network", network, "--depth", 8, "--width", 16)
    found = cli(*given, "--compare", "--figure", tmp_path / "a.png", "--json").json()
    assert (tmp_path / "a.png").is_file()
    assert found["network"] == network
    names = [report["initializer"].partition(":")[0] for report in found["reports"]]
    usual = ["siren"] if network == "siren" else ["calibrated", "calibrated", "eoc", "eoc"]
    assert names == [*usual, "xavier", "he", "orthogonal"]
    report = found["reports"][0]
    assert report["grade"] == "good"
    assert report["chi_mean_field"] is None
    shown = cli(*given, "--no-figure").out
    assert f"{network}, {act}(x), 8 layers of 16" in shown


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ("solve heat --network resnett", "did you mean resnet?"),
        ("solve heat --network resnet:blok=2", "did you mean block?"),
        ("solve heat --network siren --act tanh", "made of sines: leave act out"),
        ("solve heat --network siren --init calibrated", "needs an odd-sigmoid activation"),
        ("sweep heat --network ffnn,resnett", "did you mean resnet?"),
        ("signal tanh --network siren", "made of sines: leave act out"),
        ("solve heat --network own:Mine", "was given from Python"),
        ("solve heat --network pirate --depth 10000000 --width 100000", "of memory, and"),
    ],
)
def test_what_cannot_be(cli: Cli, tmp_path, monkeypatch, arguments, part):
    monkeypatch.chdir(tmp_path)
    assert part in cli(*arguments.split()).complaint()


def test_settings_of_a_network_are_in_the_config(cli: Cli, tmp_path):
    assert cli("solve", "heat", "--network", "siren", *SMALL, "--runs", tmp_path).code == 0
    (run,) = (tmp_path / "heat").iterdir()
    config = json.loads((run / "config.json").read_text())
    assert (config["network"], config["act"], config["init"]) == ("siren", "sin", "siren")
