"""The table of errors: every built-in problem with nothing but defaults, over seeds.

python tests/benchmarks/accuracy.py [--preset quick] [--problems burgers,wave] [--seeds 3]
    [--seconds 300] [--act tanh --scale 1.3] [--out runs/table/quick]

Runs what is missing, so that the same command goes on after an interruption, and draws up the
table as Markdown (printed, and `table.md`) and `table.json` in the directory. Seconds are wall time
of training and what belongs to it; run it on a machine that does nothing else.
"""

import argparse
import json
import platform
from pathlib import Path
from typing import Any

import torch

import pinnsig
from pinnsig.problem import problem_entries
from pinnsig.run.directory import RunDirectory
from pinnsig.sweeps import SweepTable


def run(options: argparse.Namespace) -> SweepTable:
    """Run the sweep, or what is missing of it."""
    names = options.problems.split(",") if options.problems else sorted(problem_entries())
    given: dict[str, Any] = {"act": options.act, "scale": options.scale}
    if options.seconds:
        given["max_seconds"] = options.seconds
    return pinnsig.sweep(
        names, preset=options.preset, seed=list(range(options.seeds)), out=options.out,
        batch="off", **given,
    )  # fmt: skip


def summary(table: SweepTable) -> list[dict[str, Any]]:
    """A row for each problem: medians and ranges over seeds, and what the runs were."""
    found = []
    for (problem,), rows in table.groups(["problem"]).items():
        results = [
            RunDirectory.open(table.path / row["run"]).read_json("result.json") for row in rows.done
        ]
        row: dict[str, Any] = {"problem": problem, "done": len(results), "of": len(rows)}
        for name in ("relative_l2", "max_error", "best_loss", "seconds", "iterations"):
            row[name] = dict(rows.done.spread(name).as_dict())
        if results:
            first = results[0]
            config = RunDirectory.open(table.path / rows.done[0]["run"]).read_json("config.json")
            row |= {
                "network": f"{config['depth']}x{config['width']}",
                "weights": first["parameters"],
                "method": ", ".join(f"{p['name']} {p['iterations']}" for p in first["phases"]),
                "estimated_error": [result.get("estimated_error") for result in results],
                "suspicious": [len(result["suspicious"]) for result in results],
            }
        found.append(row)
    return found


def markdown(rows: list[dict[str, Any]]) -> str:
    """The table as Markdown."""
    head = ("problem", "network", "weights", "method (seed 0)", "seconds", "loss",
            "relative L2: median [range]", "flagged")  # fmt: skip
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        error, flagged = row["relative_l2"], sum(map(bool, row.get("suspicious", [])))
        cells = (
            row["problem"], row.get("network", "-"), f"{row.get('weights', 0):,}",
            row.get("method", "-"), f"{row['seconds']['median']:.0f}",
            f"{row['best_loss']['median']:.1e}",
            f"{error['median']:.1e} [{error['min']:.1e}, {error['max']:.1e}]",
            f"{flagged} of {row['done']}",
        )  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run, print and write down."""
    parser = argparse.ArgumentParser(description="The table of errors")
    parser.add_argument("--preset", default="quick")
    parser.add_argument("--problems", default="")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--act", default="tanh")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    options.out = options.out or Path("runs/table") / options.preset
    rows = summary(run(options))
    machine = f"torch {torch.__version__}, Python {platform.python_version()}, " \
              f"{torch.get_num_threads()} threads, preset {options.preset}, " \
              f"{options.seeds} seeds"  # fmt: skip
    text = f"{markdown(rows)}\n\n{machine}\n"
    print(text)
    (options.out / "table.md").write_text(text, encoding="utf-8")
    (options.out / "table.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
