"""Options for where runs are run: processes, Ray, SLURM."""

from typing import Any

import click

from pinnsig.core.errors import SettingsError
from pinnsig.sweeps import Executor

POSITIVE = click.FloatRange(0, min_open=True)


def executor_options(command: Any) -> Any:
    """The options that `chosen_executor` reads, as a decorator."""
    for option in reversed(
        (
            click.option("--workers", type=click.IntRange(1), metavar="N",
                         help="processes on this machine  [1]"),
            click.option("--ray", is_flag=False, flag_value="auto", metavar="[ADDRESS]",
                         help="run on a Ray cluster, by default the one of this machine"),
            click.option("--ray-cpus", type=POSITIVE, default=1.0, metavar="N",
                         help="CPUs for each run on Ray  [1]"),
            click.option("--ray-gpus", type=click.FloatRange(0), default=0.0, metavar="N",
                         help="GPUs for each run on Ray; several: as many processes  [0]"),
            click.option("--slurm", multiple=True, metavar="NAME=VALUE",
                         help="run as SLURM jobs: partition=gpu, time=60 (minutes), "
                         "cpus_per_task=4, jobs=16 (at once), ..."),
        )
    ):  # fmt: skip
        command = option(command)
    return command


def chosen_executor(flags: dict[str, Any]) -> Executor | None:
    """Take the options out of `flags`; what runs elsewhere, None for this machine's processes.

    Raises:
        UsageError: two ways at once.
        DeviceError: no such cluster, or what it needs is not installed.
    """
    address, slurm = flags.pop("ray"), flags.pop("slurm")
    cpus, gpus = flags.pop("ray_cpus"), flags.pop("ray_gpus")
    ways = {"--workers": flags.get("workers"), "--ray": address, "--slurm": slurm}
    asked = [name for name, value in ways.items() if value]
    if len(asked) > 1:
        raise click.UsageError(f"give one of {' and '.join(asked)}")
    if asked and asked != ["--workers"] and flags.get("batch", "auto") not in (None, "auto", "off"):
        raise click.UsageError(f"--batch trains on this machine: it cannot go with {asked[0]}")
    if address:
        from pinnsig.sweeps.ray_cluster import RayCluster  # ray need not be installed

        return RayCluster(address, cpus=cpus, gpus=gpus)
    if slurm:
        from pinnsig.sweeps.slurm import SlurmCluster

        return SlurmCluster(**_parameters(slurm))
    return None


def _parameters(texts: tuple[str, ...]) -> dict[str, Any]:
    """NAME=VALUE pairs, several in a text between commas."""
    found: dict[str, Any] = {}
    for text in ",".join(texts).split(","):
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise SettingsError(f"--slurm: {text!r} is not NAME=VALUE")
        found[name] = int(value) if value.isdigit() else value
    return found
