"""python -m polyattn.demo: a run of seconds, what its parts compute, and wrong calls."""

import copy
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from conftest import ROOT

import polyattn

TEXTS = [ROOT / "docs/PyTorch.md", ROOT / "docs/Python.md"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(pathlib.Path(polyattn.__file__).parents[1])}
SHORT = ("--seconds", "1", "--context", "600", "--write", "20", "--threads", "1")


def command(*arguments):
    return [sys.executable, "-m", "polyattn.demo", *map(str, arguments)]


def run(*arguments, **options):
    return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=600, env=ENVIRONMENT, **options)


def test_a_short_run(tmp_path):
    pytest.importorskip("torch")
    done = run(*SHORT, "--output", tmp_path / "plot.svg", "--seed", "3", *TEXTS)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    said = done.stdout
    assert "\r" not in said and "\033" not in said  # what is not a terminal gets lines
    steps = [int(n) for n in re.findall(r"^(?:LLoPS|softmax): +(\d+) steps in", said, re.M)]
    assert len(steps) == 2 and steps[0] == steps[1] > 0
    lengths = re.findall(r"^ +([\d,]+) bytes: LLoPS [\d,]+, softmax [\d,]+$", said, re.M)
    assert lengths == ["256", "512", "600"]
    for name in ("LLoPS", "softmax"):
        assert re.search(rf"^{name} after 600 bytes continues:\n.", said, re.M)
    assert said.endswith(f"plot: {tmp_path}/plot.svg\n")

    plot = ElementTree.parse(tmp_path / "plot.svg").getroot()
    curves = [one.get("points").split() for one in plot.iter("{http://www.w3.org/2000/svg}polyline") if one.get("stroke-width")]
    assert [len(one) for one in curves[2:]] == [3, 3]
    assert len(curves[0]) == len(curves[1]) > 0
    words = [one.text for one in plot.iter("{http://www.w3.org/2000/svg}text")]
    assert re.fullmatch(r"After a text of 600 bytes, LLoPS writes [\d.]+ times as many bytes .*", words[0])
    assert {"LLoPS", "softmax", "steps", "bits per byte", "bytes written per second"} <= set(words)


@pytest.mark.parametrize(
    "arguments, expected",
    [
        (["--seconds", "0"], "argument --seconds: expected a number from 0.1 to 86,400, got '0'"),
        (["--seconds", "nan"], "argument --seconds: expected a number from 0.1 to 86,400, got 'nan'"),
        (["--context", "10"], "argument --context: expected a number from 256 to 1,048,576, got '10'"),
        (["--context", "many"], "argument --context: expected a number from 256 to 1,048,576, got 'many'"),
        (["--threads", "0"], "argument --threads: expected a number from 1 to 1,024, got '0'"),
        (["--seed", "-1"], "argument --seed: expected a number from 0 to 9,223,372,036,854,775,807, got '-1'"),
        (["--output", "plot.png"], "argument --output: expected a file name that ends in .svg, got 'plot.png'"),
        (["--output", "none/plot.svg"], "argument --output: there is no folder 'none'"),
        (["--output", "folder.svg"], "argument --output: 'folder.svg' cannot be written"),
    ],
)
def test_wrong_options(arguments, expected, tmp_path):
    (tmp_path / "folder.svg").mkdir()
    done = run(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1] == f"python -m polyattn.demo: error: {expected}"
    assert "Traceback" not in done.stderr


def test_wrong_files(tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "short").write_text("a few words")
    for name, expected in (("none", "none: No such file or directory"), ("short", "FILE: expected 20,000 bytes or more to learn from, got 11")):
        done = run(name, cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (1, "", f"polyattn.demo: {expected}\n")
        assert not (tmp_path / "polyattn-demo.svg").exists()


def test_without_pytorch(tmp_path):
    program = "import sys, runpy; sys.modules['torch'] = None; sys.argv = ['demo']; runpy.run_module('polyattn.demo', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=ENVIRONMENT, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "polyattn.demo: PyTorch is not installed; pip install torch\n"


def test_ctrl_c_on_a_terminal_leaves_a_plot(tmp_path):
    """A line changes in place, and a stopped run shows the losses so far."""
    pytest.importorskip("torch")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command("--seconds", 3000, "--threads", 1, "--output", tmp_path / "plot.svg", *TEXTS),
                               stdout=theirs, stderr=subprocess.PIPE, env=ENVIRONMENT)  # fmt: skip
    os.close(theirs)
    said = b""

    def read():
        nonlocal said
        try:
            part = os.read(ours, 4096)
        except OSError:  # the other end is closed
            part = b""
        said += part
        return part

    while b"training [" not in said:
        assert read(), said
    process.send_signal(signal.SIGINT)
    while read():
        pass
    assert process.wait(timeout=60) == 130
    assert process.stderr.read() == b""
    assert b"\r\033[Ktraining [......" in said and b"stopped by Ctrl-C" in said
    words = [one.text for one in ElementTree.parse(tmp_path / "plot.svg").getroot().iter("{http://www.w3.org/2000/svg}text")]
    assert words[0] == "A model over bytes with a LLoPS attention, and one with softmax attention"


def test_a_reader_that_goes_away(tmp_path):
    pytest.importorskip("torch")
    done = subprocess.run(["sh", "-c", '"$@" | head -1', "sh", *command(*SHORT, "--output", tmp_path / "plot.svg", *TEXTS)],
                          capture_output=True, text=True, timeout=600, env=ENVIRONMENT)  # fmt: skip
    assert done.stdout.startswith("text: 2 files") and done.stdout.count("\n") == 1
    assert done.stderr == ""


def test_texts_that_are_installed(monkeypatch):
    from polyattn.demo import texts

    assert len(texts.installed_text()[0]) > texts.FEWEST
    monkeypatch.setitem(sys.modules, "pydoc_data.topics", None)  # small systems leave it out
    text, name = texts.installed_text()
    assert name == "polyattn's own sources" and b"def attention(" in text


def models():
    torch = pytest.importorskip("torch")
    import polyattn.torch.nn as pn
    from polyattn.demo.attention import llops
    from polyattn.demo.model import Model, Softmax

    torch.seed()
    return torch, {"LLoPS": Model(lambda width, heads: pn.Attention(llops, width, heads)), "softmax": Model(Softmax)}


def test_models_continue_what_they_read():
    """Parts and single bytes give what the whole text gives, and a fork does not change its original."""
    torch, both = models()
    text = torch.randint(256, (2, 90))
    for name, model in both.items():
        with torch.no_grad():
            whole, states = model(text), model.new_states(2)
            parts = [model(part, states) for part in text[:, :80].split((50, 1, 29), 1)]
            other = copy.deepcopy(states)
            model(text[:, :5], other)
            parts += [model(text[:, i : i + 1], states) for i in range(80, 90)]
        torch.testing.assert_close(torch.cat(parts, 1), whole, atol=1e-4, rtol=1e-4, msg=lambda said: f"{name}: {said}")


def test_only_softmax_keeps_what_it_has_read():
    torch, both = models()
    from polyattn.demo.generation import Writer

    def numbers(writer):
        found = 0
        for state in writer.states:
            pools = getattr(state.states, "pools", None)
            found += sum(one.numel() for one in pools.values()) if pools else 2 * state.states.keys[:, :, : state.states.length].numel()
        return found

    sizes = {}
    for name, model in both.items():
        writer = Writer(model, 0)
        with torch.no_grad():
            for _ in range(2):
                writer.read(torch.randint(256, (2000,)))
                writer.write(2)
                sizes.setdefault(name, []).append(numbers(writer))
        assert len(writer.written) == 4
    assert sizes["LLoPS"][0] == sizes["LLoPS"][1]
    assert sizes["softmax"][1] == 2 * sizes["softmax"][0]
