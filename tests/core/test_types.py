"""Tensors have the shapes that signatures name."""

import subprocess
import sys

CHECKED = """
import tests.shapes
from tests.core.checked_runs import evaluate_all, refusals
evaluate_all()
print("refused:", refusals())
"""


def test_small_models_keep_to_the_shapes_that_signatures_name():
    done = subprocess.run([sys.executable, "-c", CHECKED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "refused: 3\n"
