"""What the compiler makes of the `fused` kernels for a GPU, which need not be here.

    python -m tests.benchmarks.kernels            # sm_90: H100, H200
    python -m tests.benchmarks.kernels --arch 80  # A100

For each plan and width: registers of a thread, bytes that spill to memory, shared memory of a
program, and how many programs a multiprocessor holds at once by registers, shared memory and
threads, as far as the compiler's own report tells.
"""

import argparse
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pinnsig.activations import parse_activation
from pinnsig.derivatives import Plan
from pinnsig.derivatives.fused import Tuning
from tests.derivatives.compiled_kernels import compile_kernel

PLANS = {
    "value": Plan.closing(("x", "t"), []),
    "Burgers: xx, t": Plan.closing(("x", "t"), [(2, 0), (0, 1)]),
    "Poisson: xx, yy": Plan.closing(("x", "y"), [(2, 0), (0, 2)]),
    "3-D: all ten": Plan.closing(
        ("x", "y", "t"),
        [(2, 0, 0), (0, 2, 0), (0, 0, 2), (1, 1, 0), (1, 0, 1), (0, 1, 1)],
    ),
}
LAYERS = 49  # between the first and the last
REGISTERS, THREADS = 65_536, 2_048  # of a multiprocessor, since 8.0
SHARED = {80: 164, 86: 100, 89: 100, 90: 228, 100: 228}  # kB of a multiprocessor


@dataclass(frozen=True)
class Report:
    """One kernel: what the compiler says."""

    registers: int
    stored: int
    loaded: int
    shared: int
    warps: int
    stages: int
    mma: str

    def programs(self, arch: int) -> int:
        """How many a multiprocessor holds at once."""
        threads = 32 * self.warps
        return min(
            REGISTERS // max(self.registers * threads, 1),
            THREADS // threads,
            SHARED.get(arch, 100) * 1024 // max(self.shared, 1),
        )


def report(plan: Plan, width: int, which: str, act: str, arch: int) -> Report:
    """Compile one kernel and read the assembler's report."""
    from triton.backends.nvidia.compiler import (  # pyright: ignore[reportMissingImports]
        get_ptxas,
    )

    made, launch = compile_kernel(parse_activation(act), plan, width, which, LAYERS, arch)
    ptx = made.asm["ptx"]
    name = f"sm_{arch}a" if arch == 90 else f"sm_{arch}"
    with tempfile.TemporaryDirectory() as place:
        file = Path(place, "kernel.ptx")
        file.write_text(ptx)
        said = subprocess.run(
            [get_ptxas(arch).path, "-v", f"--gpu-name={name}", str(file), "-o", f"{file}.cubin"],
            capture_output=True, text=True, check=True,
        ).stderr  # fmt: skip

    def found(pattern: str) -> int:
        match = re.search(pattern, said)
        return int(match[1]) if match else 0

    kinds_of = sorted(set(re.findall(r"(wgmma\S*?m64n\d+k\d+|mma\.sync\S*?m16n8k\d+)", ptx)))
    return Report(
        registers=found(r"Used (\d+) registers"),
        stored=found(r"(\d+) bytes spill stores"),
        loaded=found(r"(\d+) bytes spill loads"),
        shared=made.metadata.shared,
        warps=launch["num_warps"],
        stages=launch["num_stages"],
        mma=", ".join(dict.fromkeys(kind.split(".")[0] for kind in kinds_of)) or "none",
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--arch", type=int, default=90)
    parser.add_argument("--act", default="tanh")
    options = parser.parse_args()
    print(f"sm_{options.arch}, {options.act}, 50 layers, blocks of {Tuning().block} points")
    head = ("plan", "width", "kernel", "warps", "stages", "registers", "spilled B", "shared kB",
            "programs", "products")  # fmt: skip
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for name, plan in PLANS.items():
        for width in (32, 64, 128):
            for which in ("forward", "backward"):
                r = report(plan, width, which, options.act, options.arch)
                cells = (name, width, which, r.warps, r.stages, r.registers,
                         f"{r.stored} + {r.loaded}", f"{r.shared / 1024:.0f}",
                         r.programs(options.arch), r.mma)  # fmt: skip
                print("| " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    main()
