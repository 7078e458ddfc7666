"""Calls on PyTorch's threads."""

import os
import subprocess
import sys

import pytest

import polyattn

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(
    "OpenMP" not in torch.__config__.parallel_info(), reason="PyTorch without OpenMP"
)

SETUP = """
import os, torch, polyattn, polyattn.torch as pt
torch.set_num_threads(3)
attention = pt.load(polyattn.library.linear(d=64))
q, k, v = torch.randn(3, 2, 1000, 4, 64).unbind()
def threads():
    return len(os.listdir("/proc/self/task"))
torch.randn(400, 400) @ torch.randn(400, 400)
"""


def run(program):
    done = subprocess.run([sys.executable, "-c", SETUP + program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_calls_start_no_threads_of_their_own():
    before, after, same = run(
        "attention(q[:1, :1], k[:1, :1], v[:1, :1])\n"  # compiled, on one thread
        "before = threads(); o = attention(q, k, v); after = threads()\n"
        "torch.set_num_threads(1); print(before, after, torch.equal(o, attention(q, k, v)))"
    )
    assert before == after and same == "True"


def test_a_forked_child_has_threads_of_its_own():
    # OpenMP's stay behind: an operation of PyTorch's on several threads would wait for them forever.
    (status,) = run(
        "o = attention(q, k, v).numpy().tobytes()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(attention(q, k, v).numpy().tobytes() != o)\n"
        "print(os.waitpid(child, 0)[1])"
    )
    assert status == "0"


def test_several_threads_of_python_call_at_once():
    from concurrent.futures import ThreadPoolExecutor

    import polyattn.torch as pt

    attention = pt.load(polyattn.library.linear(d=64))
    inputs = [torch.randn(3, 1, 300, 2, 64).unbind() for _ in range(8)]
    alone = [attention(*each) for each in inputs]
    with ThreadPoolExecutor(4) as pool:
        for found, expected in zip(pool.map(lambda each: attention(*each), inputs * 3), alone * 3):
            assert torch.equal(found, expected)


def test_libraries_without_a_team():
    from polyattn._polyattn import Team

    assert Team.of_library("/nonexistent/libtorch_cpu.so") is None
    assert Team.of_library(os.path.join(os.path.dirname(torch.__file__), "version.py")) is None
