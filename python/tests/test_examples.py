"""The examples of examples/python, in a few steps each."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
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


def beside(*options, **environment):
    """The benchmark beside PyTorch, JAX and FLA: what it says of cells without a figure."""
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks/peers/python/run", "--threads", "1", "--rounds", "1", *options],
        capture_output=True, text=True, timeout=1200, env=os.environ | environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_benchmark_beside_pytorch(tmp_path):
    """The command runs to its end: every system agrees with all peers' forms, and has times for each direction, in tables."""
    said = beside("--lengths", "256", "--only", "linear,llops64", "--json", str(tmp_path / "rows.json"),
                  "--docs", str(tmp_path / "Peers.md"))  # fmt: skip
    results = json.loads((tmp_path / "rows.json").read_text())
    rows = results["rows"]
    assert [(row["system"], row["direction"]) for row in rows] == [
        (system, direction) for system in ("linear", "llops64") for direction in ("forward", "both", "decode")
    ]
    assert all(row[one] > 0 for row in rows for one in ("polyattn", "eager", "compiled"))
    assert all((row["softmax"] or 0) > 0 for row in rows if row["direction"] != "decode")
    # Elsewhere, or without a C compiler, nothing is forced.
    assert all(row["eager_stock"] > 0 for row in rows) or "eager_stock" in results["absent"]
    for column, module, words in (("jax", "jax", "JAX"), ("fla", "fla", "FLA")):
        is_there = importlib.util.find_spec(module) is not None
        assert [bool(row[column]) for row in rows] == [is_there] * len(rows), said
        assert is_there or f"- {words}: No module named '{module}'" in said

    page = (tmp_path / "Peers.md").read_text()
    tables = dict(re.findall(r"<!-- begin (\w+) -->\n(.*?)<!-- end -->", page, re.S))
    assert {name for name, text in tables.items() if "Not yet measured" in text} <= {"plots"}
    for direction in ("forward", "both"):
        for system in ("linear", "llops64"):
            assert re.search(rf"^\| {system} \| 256 \| 1 \| [\d.]+ \|", tables[direction], re.M)
            assert re.search(rf"^\| {system} \| 64 \| 1 \| [\d.]+ \|.*x \| 4.00x \|", tables["decode"], re.M)
    assert "softmax: has no state of fixed size (linear, decode; llops64, decode)" in tables["missing"]

    # The page again, without measuring; a row measured again takes the old one's place.
    beside("--tables", "--json", str(tmp_path / "rows.json"), "--docs", str(tmp_path / "again.md"))
    assert (tmp_path / "again.md").read_text() == page


def test_benchmark_without_some_peers(tmp_path):
    """A peer that is not there, or that ends its process, has dashes and a line; the others have figures."""
    (tmp_path / "jax.py").write_text("raise ImportError('no such thing')")
    (tmp_path / "fla.py").write_text("import os\nos.abort()")
    said = beside("--lengths", "64", "--only", "power", "--directions", "forward", "--json", str(tmp_path / "rows.json"),
                  PYTHONPATH=str(tmp_path))  # fmt: skip
    (row,) = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert all(row[one] > 0 for one in ("polyattn", "eager", "compiled", "softmax"))
    assert row["jax"] is None and row["fla"] is None
    assert "- JAX: no such thing" in said and re.search(
        r"^- FLA: ended by SIGABRT(?s:.*?)\(power, forward, T = 64\)$", said, re.M
    )  # its last words may take several lines


def test_benchmark_wants_equal_results(tmp_path, monkeypatch):
    """A form that computes something else has no time."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks/peers/python")
    from beside import timing

    results = timing.Results(str(tmp_path / "expected.npz"), 1e-3)
    exact, failed = np.ones(10, "f4"), {}
    forms = {"first": exact, "same": exact * 1.0001, "other": exact * 1.01, "nothing": exact * np.nan}
    times = timing.fastest({name: timing.Call(lambda one=one: [one]) for name, one in forms.items()}, results, failed)
    assert set(times) == {"first", "same"}
    assert failed == {"other": "results differ by 1.0e-02", "nothing": "results differ by nan"}


def test_benchmark_tries_fewer_forms(monkeypatch):
    """What was far from the best of its kind is not tried at longer lengths; all scores at once are no measure for chunks."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks/peers/python")
    from beside.timing import Shortlist

    shortlist = Shortlist()
    names = ["direct", "looped 64", "looped 128", "chunked 64", "chunked 128"]
    times = {"direct": 0.1, "looped 64": 1.0, "looped 128": 1.9, "chunked 64": 3.0, "chunked 128": 4.0}
    shortlist.learn("power", 512, times)
    assert shortlist.of("power", names) == names
    shortlist.learn("power", 2048, times, ["direct", "chunked 64", "chunked 128"])
    assert shortlist.of("power", names) == names[:4]
    assert shortlist.of("power", names[1:]) == names[1:4]
    assert shortlist.of("based", names) == names
