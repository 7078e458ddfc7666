"""Ctrl-C during native calls: it comes back as KeyboardInterrupt, the work stops, and everything can be used again."""

import logging
import os
import pty
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from conftest import SPECS

import polyattn

# Its backward half takes many seconds to compile.
SLOW = f"""
import polyattn
polyattn.compile({str(SPECS / "polysketch-learned.mlir")!r}, "polysketch_learned", direction="backward", cache="")
"""


def compile_slowly(**options):
    return polyattn.compile(SPECS / "polysketch-learned.mlir", "polysketch_learned", direction="backward", **options)


@pytest.fixture
def interrupt():
    """Sends SIGINT to this process from another thread, once `when` says so: a call has begun that takes seconds.

    Unless said otherwise that is when the call has started a thread of its own, as the compiler and the oracle do.
    """
    threads = []

    def once(when=None):
        before = threads_of_process()

        def send():
            # By which threads there are, not by how many: one of an interrupted call before may be about to end.
            here = {str(threading.get_native_id())}
            wait_until(when or (lambda: threads_of_process() - before - here))
            os.kill(os.getpid(), signal.SIGINT)

        threads.append(threading.Thread(target=send, daemon=True))
        threads[-1].start()

    yield once
    for thread in threads:
        thread.join()


def threads_of_process():
    return set(os.listdir("/proc/self/task"))


def wait_until(condition):
    while not condition():
        time.sleep(0.05)


def power4():
    """A power of many features: a head of 2,000 positions takes about 0.1 s."""
    return polyattn.library.power(d=16, dv=16, p=4)


def test_a_compile_is_interrupted_and_ends(interrupt, tmp_path):
    before = threads_of_process()
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            interrupt()
            compile_slowly(cache=str(tmp_path))
        # What was under way stops at its next pass, and leaves no thread.
        wait_until(lambda: len(threads_of_process()) <= len(before))
    assert list(tmp_path.iterdir()) == []


def test_other_compiles_of_the_same_kernel_go_on(interrupt, qkv):
    spec, kernels = polyattn.library.linear(d=64), []
    stop = threading.Event()

    def compile_again():
        while not stop.is_set():
            kernels.append(polyattn.compile(spec, cache=""))

    other = threading.Thread(target=compile_again)
    other.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupt(lambda: kernels)
            while True:
                polyattn.compile(spec, cache="")
    finally:
        count = len(kernels)
        wait_until(lambda: len(kernels) > count + 1)
        stop.set()
        other.join()
    assert kernels[-1](*qkv).shape == qkv[0].shape


@pytest.mark.parametrize("call", ["explain", "ir", "save"])
def test_what_a_kernel_says_is_interrupted(call, interrupt, tmp_path, monkeypatch):
    kernel = polyattn.compile(polyattn.library.linear(d=64))
    slow = polyattn._specs.source_of(
        SPECS / "polysketch-learned.mlir", "polysketch_learned", direction="backward", cache=""
    )
    monkeypatch.setattr(kernel, "_source", slow)
    calls = {"explain": kernel.explain, "ir": lambda: kernel.ir("llvm"), "save": lambda: kernel.save(tmp_path / "made")}
    with pytest.raises(KeyboardInterrupt):
        interrupt()
        while True:  # an explanation alone may be done before the signal
            calls[call]()
    assert list(tmp_path.iterdir()) == []


def test_the_oracle_is_interrupted(interrupt, linear, qkv):
    oracle = polyattn.reference(SPECS / "linear.mlir", "linear")
    row = np.random.rand(1, 1, 1, 64).astype("f4")
    long = [np.broadcast_to(row, (1, 20000, 4, 64))] * 3  # minutes
    before = threads_of_process()
    with pytest.raises(KeyboardInterrupt):
        interrupt()
        oracle(*long)
    assert len(threads_of_process()) <= len(before) + 1  # that which interrupts
    assert np.abs(oracle(*qkv) - linear(*qkv)).max() < 1e-5


def test_waiting_for_the_oracle_is_interrupted(interrupt):
    """Calls of one oracle run one after another."""
    oracle = polyattn.reference(SPECS / "linear.mlir", "linear")
    long = [np.ones((1, 4000, 1, 64), "f4")] * 3
    other = threading.Thread(target=lambda: oracle(*long))
    other.start()
    with pytest.raises(KeyboardInterrupt):
        interrupt(other.is_alive)
        while True:
            oracle(*long)
    other.join()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_kernel_is_interrupted_between_programs(threads, interrupt):
    kernel = polyattn.compile(power4())
    heads = np.random.standard_normal((3, 1, 2000, 8, 16)).astype("f4")
    q, k, v = (np.broadcast_to(x, (64, 2000, 8, 16)) for x in heads)
    out = np.full(q.shape, np.nan, "f4")
    with pytest.raises(KeyboardInterrupt):
        interrupt(lambda: not np.isnan(out[0, 0, 0, 0]))
        kernel(q, k, v, out=out, threads=threads)
    # Counts of programs, which are heads: some are whole, and most have not begun.
    written = ~np.isnan(out).any(axis=(1, 3))
    assert 0 < written.sum() < written.size
    was = out.copy()
    # Nothing works on it any more, and the kernel is as good as new.
    first = kernel(*heads, threads=threads)
    assert np.array_equal(out, was, equal_nan=True)
    assert not np.isnan(first).any()
    found, expected = np.moveaxis(out, 2, 1)[written], np.moveaxis(first[0], 1, 0)
    assert np.array_equal(found, expected[np.nonzero(written)[1]])


def test_handlers_that_do_not_raise_run_during_a_call(qkv):
    """On Python's main thread, while the call goes on to its end."""
    kernel, seen = polyattn.compile(power4()), []
    q, k, v = (np.broadcast_to(np.random.rand(1, 1, 1, 16).astype("f4"), (8, 20000, 8, 16)) for _ in range(3))
    usual = signal.signal(signal.SIGALRM, lambda *_: seen.append(threading.current_thread()))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
        o = kernel(q, k, v, threads=1)
        count = len(seen)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, usual)
    assert count > 1 and set(seen) == {threading.main_thread()}
    assert np.isfinite(o).all()


def test_calls_of_other_threads_are_not_interrupted(interrupt):
    kernel, results = polyattn.compile(power4()), []
    heads = np.random.standard_normal((3, 4, 2000, 8, 16)).astype("f4")
    other = threading.Thread(target=lambda: results.append(kernel(*heads, threads=1)))
    with pytest.raises(KeyboardInterrupt):
        other.start()
        interrupt(other.is_alive)
        while True:
            time.sleep(1)
    other.join()
    assert np.isfinite(results[0]).all()


def test_a_long_compile_is_logged(caplog):
    messages = []

    class Interrupt(logging.Handler):
        def emit(self, record):
            messages.append(record.getMessage())
            if len(messages) == 1:
                signal.raise_signal(signal.SIGINT)

    logger, handler = logging.getLogger("polyattn"), Interrupt()
    logger.addHandler(handler)
    try:
        with caplog.at_level(logging.INFO, "polyattn"), pytest.raises(KeyboardInterrupt):
            compile_slowly(cache="")
    finally:
        logger.removeHandler(handler)
    assert messages[0] == "compiling polysketch_learned (backward) takes longer than a second"
    assert messages[1].startswith("compiling polysketch_learned (backward) ended after ")


def test_a_long_compile_says_so_on_a_terminal():
    """And a process that was interrupted ends as Python's do."""
    master, slave = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", SLOW], stderr=slave, stdin=slave)
    os.close(slave)
    text = b""
    interrupted = False
    while True:
        try:
            text += os.read(master, 1000)
        except OSError:  # the other end is closed
            break
        if not interrupted and b"\rpolyattn: compiling polysketch_learned (backward): 1 s" in text:
            process.send_signal(signal.SIGINT)
            interrupted = True
    assert process.wait() == -signal.SIGINT
    assert interrupted and b"KeyboardInterrupt" in text
    os.close(master)


def test_who_waits_for_an_interrupted_compile_compiles_itself(monkeypatch):
    pytest.importorskip("torch")
    import polyattn.torch as pt
    from polyattn.torch import _recipes

    attention = pt.load(polyattn.library.linear(d=32))
    compiled, begun, found = _recipes.compile, threading.Event(), []

    def interrupted_once(*arguments, **options):
        if not begun.is_set():
            begun.set()
            wait_until(lambda: other.is_alive())
            raise KeyboardInterrupt
        return compiled(*arguments, **options)

    def wait_for_it():
        begun.wait()
        found.append(attention._recipe.kernel("f32"))

    monkeypatch.setattr(_recipes, "compile", interrupted_once)
    other = threading.Thread(target=wait_for_it)
    other.start()
    with pytest.raises(KeyboardInterrupt):
        attention._recipe.kernel("f32")
    other.join()
    assert found[0].signature.name == attention.signature.name
