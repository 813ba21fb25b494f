"""What this machine's processors can do, so that no code of another machine's is run on them."""

import functools
import subprocess
import sys
from pathlib import Path

FEATURES = ("flags", "Features", "CPU implementer", "CPU part", "isa", "cpu\t")
"""Lines of /proc/cpuinfo that say which instructions a processor has: x86, ARM, RISC-V, POWER."""


@functools.cache
def processor_features() -> str:
    """Return which instructions this machine's processors have; "" where the system cannot tell."""
    if sys.platform == "darwin":  # machine() is that of the process, which may be translated
        names = ["machdep.cpu.brand_string"]
        done = subprocess.run(["/usr/sbin/sysctl", "-n", *names], capture_output=True, check=False)
        return done.stdout.decode(errors="replace").strip()
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return "\n".join(sorted({line for line in text.splitlines() if line.startswith(FEATURES)}))
