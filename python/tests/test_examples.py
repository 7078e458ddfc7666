"""The examples of examples/python, in a few steps each."""

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
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
    """Learned sketches are better than networks, and these than random ones, as in the paper's table; none is better than the bound."""
    said = run("fit_sketch.py", "--drawn", "--steps", "150", "--layers", "1", "--samples", "400")
    rows = re.findall(r"^\| (\d) \| (\w+) \| ([\d.]+) \| [\d.]+ \| ([\d.]+) \|$", said, re.M)
    found, ratios = ({(row[0], row[1]): float(row[i]) for row in rows} for i in (2, 3))
    for p in "23":
        for values in (found, ratios):
            assert values[p, "LLoPS"] < values[p, "networks"] < values[p, "PSF"]
        assert all(found[p, "optimum"] <= found[p, name] for name in ("products", "LLoPS", "networks", "PSF"))
    assert all(float(x) < 0.1 for x in re.findall(r"off by ([\d.]+)", said))


def test_fit_sketch_of_a_trained_model():
    """Queries and keys of both layers of a model with the exact kernel, here after a few steps."""
    said = run("fit_sketch.py", "--model-steps", "5", "--steps", "5", "--samples", "100", "--features", "16")
    assert re.findall(r"^p = (\d): the model with the exact kernel recalls [\d.]+%$", said, re.M) == ["2", "3"]
    rows = re.findall(r"^\| (\d) \| (\w+) \|" + r" ([\d.]+) \|" * 4 + "$", said, re.M)
    found = {(row[0], row[1]): [float(one) for one in row[2:4]] for row in rows}
    assert len(found) == 10
    for (p, name), each in found.items():
        assert all(best <= one for best, one in zip(found[p, "optimum"], each)), name


def test_bounds_of_sketches(examples, rng):
    """Theorem 3.1: W has the scores of the truncated SVD, and nothing of its rank is nearer. Theorem 3.4: for tensors whose spectral
    norm is known, and products of projections that are near to W are no nearer than it says."""
    torch, bounds = examples("torch"), examples("sketch_bounds")
    torch.manual_seed(int(rng.integers(2**31)))
    for p, d, m in ((2, 6, 9), (3, 4, 7), (4, 3, 5)):
        q, k = torch.randn(2, 40, d, dtype=torch.float64)
        scores = (q @ k.T) ** p
        best, weights = bounds.optimum(q, k, m, p)
        features = []
        for x, w in zip((q, k), weights):
            products = x
            for _ in range(p - 1):
                products = (products[:, :, None] * x[:, None, :]).flatten(1)
            features.append(products @ w.flatten(0, -2))
        assert torch.allclose(features[0] @ features[1].T, best, atol=1e-7 * scores.abs().max().item())
        error = torch.linalg.svdvals(scores)[m:].square().sum()
        assert torch.allclose((best - scores).square().sum(), error)
        left = torch.randn(40, m, dtype=torch.float64)
        assert (left @ torch.linalg.lstsq(left, scores).solution - scores).square().sum() > error

        # Sums of outer powers of orthogonal vectors: the largest factor is the norm.
        axes, sizes = torch.linalg.qr(torch.randn(d, d, dtype=torch.float64))[0], torch.rand(m, d, dtype=torch.float64)
        names = "abcd"[:p]
        tensors = torch.einsum(",".join(f"{one}n" for one in names) + f",mn->m{names}", *[axes] * p, sizes)
        assert torch.allclose(bounds.spectral(tensors)[0], sizes.amax(-1), rtol=1e-6)
        for w in weights:
            thetas, distance = bounds.nearest_products(w)
            columns = ",".join(f"{one}m" for one in names) + f"->{names}m"
            found = (torch.einsum(columns, *thetas) - w).norm() / w.norm()
            assert torch.allclose(found, torch.tensor(distance, dtype=torch.float64), rtol=1e-5)
            for _ in range(20):
                near = [one + 0.05 * one.abs().mean() * torch.randn_like(one) for one in thetas]
                assert (torch.einsum(columns, *near) - w).norm() / w.norm() >= distance - 1e-9


def test_beside_softmax(tmp_path):
    """More directions are nearer to softmax attention. States of linear attention do not grow, a matrix of scores does."""
    said = run("beside_softmax.py", "--draws", "6", "--channels", "16", "--memory", "--lengths", "512,2048",
               "--plot", str(tmp_path / "weights.svg"))  # fmt: skip
    rows = {(row[0], int(row[1])): (float(row[2]), float(row[3]))
            for row in re.findall(r"^\| ([\w+ ]+) \| (\d+) \| ([\d.-]+) \| ([\d.]+) \|$", said, re.M)}  # fmt: skip
    assert len(rows) == 14
    cosines, squares = zip(*(rows["Performer", n] for n in (16, 64, 512)))
    assert sorted(cosines) == list(cosines) and cosines[-1] > 0.9 and sorted(squares, reverse=True) == list(squares)
    units = {"B": 1, "KiB": 2**10, "MiB": 2**20}
    sizes = [[float(n) * units[unit] for n, unit in re.findall(r"([\d.e+]+) ([KMG]?i?B) ", line)]
             for line in said.splitlines() if re.match(r"\| (512|2,048) \|", line)]  # fmt: skip
    (state, cache, _, _, small), (state_after, cache_after, linear, _, large) = sizes
    assert state == state_after == pytest.approx(16 * 17 * 4, rel=0.05) and cache_after == 4 * cache == 2 * 4 * 2048 * 16
    assert large > 2048**2 * 4 and large > 8 * small and linear < large / 8
    plot = ElementTree.parse(tmp_path / "weights.svg").getroot()
    assert len(plot.findall("{*}rect")) == 1 + 6 * 32 * 33 / 2


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
    curves = [one.get("points").split() for one in plot.iter("{http://www.w3.org/2000/svg}polyline") if one.get("stroke-width")]
    assert len(curves) == len(json.loads((tmp_path / "losses.json").read_text()))
    heights = [float(point.split(",")[1]) for point in curves[0]]
    assert heights[-1] > heights[0] + 10  # downwards


@pytest.fixture
def examples(monkeypatch):
    """Modules of examples/python by name."""
    monkeypatch.syspath_prepend(ROOT / "examples/python")
    return importlib.import_module


def test_tasks(tmp_path):
    """Models learn what a guess cannot know. A command that was interrupted goes on from its results."""
    results, layers = tmp_path / "tasks.json", ["Based(r=4)", "Softmax()", "FNet()"]
    command = [
        sys.executable, ROOT / "examples/python/tasks.py", "--quick", "--steps", "120", "--task", "induction", "--threads", "1",
        "--results", str(results), "--layer", *layers,
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as begun:
        while not results.exists() and begun.poll() is None:
            time.sleep(0.05)
        begun.send_signal(signal.SIGINT)
        _, said = begun.communicate(timeout=600)
    assert begun.returncode == 1 and said.strip() == "stopped: the same command goes on from the results", said
    assert [run["layer"] for run in json.loads(results.read_text())["runs"]] == layers[:1]

    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^induction, Based\(r=4\): [\d.]+% \(from the results\)$", done.stdout, re.M)
    assert re.search(r"^induction, Softmax\(\): [\d.]+%$", done.stdout, re.M)
    runs = {run["layer"]: run for run in json.loads(results.read_text())["runs"]}
    guess = np.log(16)
    for name in layers[:2]:
        assert runs[name]["losses"][0] > 0.9 * guess and runs[name]["loss"] < 0.5 * guess and runs[name]["accuracy"] > 0.7
    # A state of two layers, each with two heads of 1 + 4 + 10 features by 16 values and a sum; softmax attention has none.
    assert runs["Based(r=4)"]["state_bytes"] == 2 * 2 * 15 * 17 * 4 and runs["Softmax()"]["state_bytes"] is None
    assert re.search(r"^\| `Based\(r=4\)` \| 4,080 \| [\d.]+ \|$", done.stdout, re.M)
    assert re.search(r"^\| `Softmax\(\)` \| - \| [\d.]+ \|$", done.stdout, re.M)
    plot = ElementTree.parse(tmp_path / "tasks.svg").getroot()
    assert len(plot.findall("{*}circle")) == 1
    assert len([one for one in plot.findall("{*}polyline") if one.get("stroke-dasharray")]) == 3  # two layers and chance

    # Other settings are other models.
    again = subprocess.run([*command, "--seed", "1", "--steps", "1"], capture_output=True, text=True, timeout=600)
    assert "from the results" not in again.stdout and len(json.loads(results.read_text())["runs"]) == 6


def test_tasks_ask_what_was_said(examples):
    """Labels by the words of each task, for every row."""
    tasks, generator = examples("recall_tasks"), examples("torch").Generator().manual_seed(0)
    for text, labels in zip(*(x.tolist() for x in tasks.recall(pairs=5, keys=8, values=6).draw(40, generator, False))):
        value = dict(zip(text[0:10:2], text[1:10:2]))
        assert labels == [-100] * 10 + [value[key] for key in text[10:]] and sorted(text[10:]) == sorted(value)
    for text, labels in zip(*(x.tolist() for x in tasks.copying(tokens=3, kinds=4, noise=9).draw(40, generator, False))):
        assert labels == [-100] * 12 + [one for one in text[:12] if one] and text[12:] == [1] * 3
    for text, labels in zip(*(x.tolist() for x in tasks.induction(length=12, kinds=5).draw(40, generator, False))):
        place = text.index(5)
        assert text.count(5) == 2 and text[-1] == 5 and labels == [-100] * 11 + [text[place + 1]]
    data = examples("torch").arange(200)
    for held_out in (False, True):
        text, labels = tasks.following_bytes(data, 7).draw(40, generator, held_out)
        assert (labels == text + 1).all() and ((text >= 180) == held_out).all()


def test_tasks_refuse(examples, tmp_path, monkeypatch, capsys):
    """A wrong argument is one line."""
    tasks = examples("tasks")
    (tmp_path / "other.json").write_text("[1]")
    for arguments, words in (
        (["--task", "recal"], "--task: expected some of recall, copying, induction, bytes, got 'recal'"),
        (["--layer", "Losp(m=3)"], "--layer: expected one of Based, "),
        (["--layer", "LLoPS(64)"], "--layer: expected a name with options by name, such as 'LLoPS(m=64)', got 'LLoPS(64)'"),
        (["--layer", "LLoPS(m="], "--layer: expected a name with options by name"),
        (["--layer", "LLoPS(m=print())"], "--layer: expected a name with options by name"),
        (["--layer", "LLoPS(n=3)"], "--layer: LLoPS: expected options among kv_heads, m, p, "),
        (["--layer", "Softmax(n=3)"], "--layer: Softmax: expected options among none, got 'n'"),
        (["--layer", "LLoPS(m=0)"], "--layer: LLoPS(m=0): "),
        (["--layer", "Polynomial(p=3)"], "--layer: Polynomial(p=3): "),
        (["--steps", "0"], "argument --steps: expected a whole number of at least 1, got '0'"),
        (["--threads", "x"], "argument --threads: expected a whole number of at least 1, got 'x'"),
        (["--results", str(tmp_path / "other.json")], "--results: expected a file that this program wrote, got "),
        (["--results", str(tmp_path)], "--results: expected a file that this program wrote, got "),
    ):
        monkeypatch.setattr(sys, "argv", ["tasks.py", *arguments])
        with pytest.raises(SystemExit) as ended:
            tasks.options_of()
        said = capsys.readouterr().err
        assert ended.value.code == 2 and said.startswith(f"tasks.py: error: {words}") and said.count("\n") == 1, said


def test_baselines(examples):
    """By their definitions; Nystroem with a landmark for each position is softmax attention without a mask."""
    torch, baselines, tasks = (examples(name) for name in ("torch", "baselines", "tasks"))
    torch.manual_seed(0)
    x = torch.randn(2, 12, 8, dtype=torch.float64)
    turns = [torch.exp(-2j * np.pi * torch.outer(torch.arange(n), torch.arange(n)) / n) for n in (12, 8)]
    wanted = torch.einsum("st,btc,cd->bsd", turns[0], x.to(turns[1].dtype), turns[1]).real / (12 * 8) ** 0.5
    assert torch.allclose(baselines.FNet(8, 2)(x).to(wanted.dtype), wanted, atol=1e-5)

    layer = baselines.Nystroem(8, 2, landmarks=12).double()
    q, v = torch.randn(2, 2, 2, 12, 4, dtype=torch.float64)
    q = 4 * q / q.norm(dim=-1, keepdim=True)  # scores are largest on the diagonal
    wanted = torch.nn.functional.scaled_dot_product_attention(q, q, v)
    assert (layer.attend(q, q, v) - wanted).norm() < 0.02 * wanted.norm()
    few = baselines.Nystroem(8, 2, landmarks=2).double().attend(q, q, v)
    assert (few - wanted).norm() > 0.1 * wanted.norm()

    task = examples("recall_tasks").following_bytes(torch.randint(256, (500,)), 16)
    sees = {name: tasks.sees_later_positions(tasks.Model(tasks.layer_of(name), task), task)
            for name in ("FNet()", "Nystroem(landmarks=4)", "PolaFormer()", "Softmax()", "Linear()")}  # fmt: skip
    assert sees == {"FNet()": True, "Nystroem(landmarks=4)": True, "PolaFormer()": True, "Softmax()": False, "Linear()": False}


def beside(*options, **environment):
    """The benchmark beside PyTorch, JAX and FLA: what it says of cells without a figure."""
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks/peers/python/run", "--threads", "1", "--rounds", "1", *options],
        capture_output=True, text=True, timeout=1200, env=os.environ | environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_benchmark_beside_pytorch(tmp_path):
    """The command runs to its end: a system agrees with all peers' forms, and has times for each direction, in tables."""
    said = beside("--lengths", "256", "--only", "linear", "--json", str(tmp_path / "rows.json"),
                  "--docs", str(tmp_path / "Peers.md"))  # fmt: skip
    results = json.loads((tmp_path / "rows.json").read_text())
    rows = results["rows"]
    assert [(row["system"], row["direction"]) for row in rows] == [("linear", one) for one in ("forward", "both", "decode")]
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
        assert re.search(r"^\| linear \| 256 \| 1 \| [\d.]+ \|", tables[direction], re.M)
    assert re.search(r"^\| linear \| 64 \| 1 \| [\d.]+ \|.*x \| 4.00x \|", tables["decode"], re.M)
    assert "softmax: has no state of fixed size (linear, decode)" in tables["missing"]

    # The page again, without measuring; a row measured again takes the old one's place.
    beside("--tables", "--json", str(tmp_path / "rows.json"), "--docs", str(tmp_path / "again.md"))
    assert (tmp_path / "again.md").read_text() == page


def test_benchmark_without_some_peers(tmp_path):
    """A peer that is not there, or that ends its process, has dashes and a line; the others have figures."""
    (tmp_path / "jax.py").write_text("raise ImportError('no such thing')")
    (tmp_path / "fla.py").write_text("import os\nos.abort()")
    said = beside("--lengths", "64", "--only", "llops64", "--directions", "forward", "--json", str(tmp_path / "rows.json"),
                  PYTHONPATH=str(tmp_path))  # fmt: skip
    (row,) = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert all(row[one] > 0 for one in ("polyattn", "eager", "compiled", "softmax"))
    assert row["jax"] is None and row["fla"] is None
    assert "- JAX: no such thing" in said and re.search(
        r"^- FLA: ended by SIGABRT(?s:.*?)\(llops64, forward, T = 64\)$", said, re.M
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
