"""The examples of examples/python, in a few steps each."""

import json
import re
import subprocess
import sys
from xml.etree import ElementTree

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


def test_train_lm(tmp_path):
    """The loss falls below that of single bytes within some steps, which a broken gradient would not let it."""
    said = run("train_lm.py", "--steps", "80", "--length", "64", "--threads", "1", "--attention", "linear,llops",
               "--save", str(tmp_path), str(ROOT / "docs/Semantics.md"))  # fmt: skip
    plain = float(re.search(r"single bytes: ([\d.]+)", said)[1])
    assert float(re.search(r"^linear: ([\d.]+) bits", said, re.M)[1]) < plain - 0.3
    assert float(re.search(r"^llops: ([\d.]+) bits", said, re.M)[1]) < plain
    # A sample, whose bytes cost what they cost at its beginning: no text so far is read again for each.
    first, last = map(float, re.search(r"^linear: us per byte of the sample's halves: (\d+), (\d+)", said, re.M).groups())
    assert last < 3 * first
    assert (tmp_path / "linear.pt").exists() and (tmp_path / "losses.json").exists()
    plot = ElementTree.parse(tmp_path / "losses.svg").getroot()
    curves = [one.get("points").split() for one in plot.findall("{*}polyline") if one.get("stroke-width")]
    assert len(curves) == len(json.loads((tmp_path / "losses.json").read_text()))
    heights = [float(point.split(",")[1]) for point in curves[0]]
    assert heights[-1] > heights[0] + 10  # downwards


def test_benchmark_beside_pytorch(tmp_path):
    """The command runs to its end: every system agrees with PyTorch's forms, and has a row of times for each direction."""
    run("../../benchmarks/peers/python/run", "--lengths", "256", "--threads", "1", "--rounds", "1", "--only", "linear,llops64",
        "--json", str(tmp_path / "rows.json"))  # fmt: skip
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert [(row["system"], row["direction"]) for row in rows] == [
        (system, direction) for system in ("linear", "llops64") for direction in ("forward", "both")
    ]
    assert all(row[one] > 0 for row in rows for one in ("polyattn", "eager", "compiled", "softmax"))
