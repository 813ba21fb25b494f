"""Tensors have the shapes that signatures name."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

CHECKED = """
import tests.shapes
from tests.core.checked_runs import evaluate_all, refusals
evaluate_all()
print("refused:", refusals())
"""


def test_small_models_keep_to_the_shapes_that_signatures_name():
    command = [sys.executable, "-c", CHECKED]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "refused: 3\n"
