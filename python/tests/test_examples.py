"""The examples of examples/python, in a few steps each."""

import re
import subprocess
import sys

import pytest
from conftest import ROOT

pytest.importorskip("torch")


def run(name, *options):
    done = subprocess.run(
        [sys.executable, ROOT / "examples/python" / name, *options], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_fit_sketch():
    """Learned sketches are better than networks, and these than random ones, as in the paper's table."""
    said = run("fit_sketch.py", "--steps", "150", "--layers", "1")
    rows = re.findall(r"^\| (\d) \| (\w+) \| .* \| ([\d.]+) \|$", said, re.M)
    found = {(p, name): float(error) for p, name, error in rows}
    for p in "23":
        assert found[p, "LLoPS"] < found[p, "networks"] < found[p, "random"]
    assert all(float(x) < 0.1 for x in re.findall(r"off by ([\d.]+)", said))
