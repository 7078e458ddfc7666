"""The command-line tools of the package: the same programs as those of a build, in a process of their own."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest
from conftest import SPECS

import polyattn

try:
    import tomllib
except ImportError:  # before 3.11
    tomllib = None

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(pathlib.Path(polyattn.__file__).parents[1])}


def command(name, *arguments):
    """What pip makes of an entry point."""
    start = f"import sys; from polyattn._tools import {name}; sys.exit({name}())"
    return [sys.executable, "-c", start, *map(str, arguments)]


def run(name, *arguments, **options):
    return subprocess.run(command(name, *arguments), capture_output=True, text=True, timeout=600, env=ENVIRONMENT, **options)


def test_the_wheel_has_entry_points_for_them():
    if tomllib is None:
        pytest.skip("tomllib came with Python 3.11")
    with open(SPECS.parent / "pyproject.toml", "rb") as file:
        scripts = tomllib.load(file)["project"]["scripts"]
    assert scripts == {f"polyattn-{name}": f"polyattn._tools:{name}" for name in ("run", "compile", "opt")}


def test_run_checks_an_entry():
    done = run("run", SPECS / "linear.mlir", "--entry", "linear", "--random", "B=2,T=50,H=2", "--check")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("@linear on cpu: B=2 T=50 H=2\n") and ": passed, relative error" in done.stdout


@pytest.mark.parametrize("target", ["tile", "emulator"])
def test_run_has_all_targets(target):
    """The emulator's functions are found though the library hides its symbols."""
    done = run("run", SPECS / "linear.mlir", "--entry", "linear", "--random", "B=1,T=20,H=1", "--target", target, "--check")
    assert done.returncode == 0, done.stderr
    assert ": passed, relative error" in done.stdout


def test_opt_prints_what_the_tool_prints():
    done = run("opt", SPECS / "llops.mlir", "--print-short")
    assert done.returncode == 0, done.stderr
    assert "polyattn.attention @llops(q, k, v: seq[128]" in done.stdout
    again = run("opt", "-", "--print-short", input=done.stdout)
    assert again.stdout == done.stdout
    assert "polyattn" in run("opt", "--version").stdout


def test_compile_writes_objects(tmp_path):
    done = run("compile", SPECS / "linear.mlir", "--entry", "linear", "--emit", "obj", "-o", tmp_path / "linear.o")
    assert done.returncode == 0, done.stderr
    assert any(tmp_path.iterdir())


def test_mistakes_end_as_those_of_the_tools_do():
    done = run("run", "nosuch.mlir", "--entry", "linear")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "polyattn-run: error: 'nosuch.mlir': No such file or directory\n"
    assert run("compile", "--no-such-option").returncode == 1
    assert run("opt", "--no-such-option").returncode == 1


def test_a_reader_that_goes_away_ends_the_tool():
    """Python ignores SIGPIPE, which would make LLVM report an error of its own."""
    done = subprocess.run(
        ["sh", "-c", '"$@" | head -1; :', "sh", *command("opt", SPECS / "llops.mlir", "--polyattn-cpu-pipeline")],
        capture_output=True, text=True, timeout=600, env=ENVIRONMENT,
    )  # fmt: skip
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


def test_ctrl_c_ends_the_tool():
    """Python's own handler would wait for the tool's end."""

    def is_caught():
        caught = re.search(r"SigCgt:\s*(\w+)", pathlib.Path(f"/proc/{process.pid}/status").read_text())[1]
        return bool(int(caught, 16) >> (signal.SIGINT - 1) & 1)

    process = subprocess.Popen(
        command("run", SPECS / "linear.mlir", "--entry", "linear", "--random", "B=1,T=40000,H=8", "--target", "reference"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT,
    )  # fmt: skip
    # Python starts, and then the tool, on a slow machine after more than any time that a test would wait.
    for expected in (True, False):
        for _ in range(6000):
            if is_caught() == expected:
                break
            time.sleep(0.01)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == -signal.SIGINT
