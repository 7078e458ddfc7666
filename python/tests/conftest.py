"""What all tests share: the specs of the repository, and inputs that differ in every run."""

import os
import pathlib
import signal
import tempfile

import numpy as np
import pytest

import polyattn

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPECS = ROOT / "specs"
# Tests leave no kernels in the user's cache, nor find any there. They share one of this session: many want the same kernels, and those
# that are about compiling say `cache=""`.
_CACHE = tempfile.TemporaryDirectory(prefix="polyattn-tests-")
os.environ["POLYATTN_CACHE_DIR"] = _CACHE.name


@pytest.fixture(autouse=True)
def interruptible():
    """A shell's background jobs, and their children, ignore SIGINT: tests that interrupt a program would wait forever."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)


@pytest.fixture
def rng(request):
    seed = int(np.random.SeedSequence().entropy % 2**32)
    request.node.user_properties.append(("seed", seed))
    print("seed", seed)
    return np.random.default_rng(seed)


@pytest.fixture(scope="session")
def linear():
    return polyattn.compile(SPECS / "linear.mlir", "linear")


@pytest.fixture
def qkv(rng):
    """Queries, keys and values of a ragged length."""
    return [rng.standard_normal((2, 77, 3, 64)).astype("f4") for _ in range(3)]


def pytest_addoption(parser):
    parser.addoption("--take-files", help="a folder where processes that run the same tests say which files of them they have taken")
    parser.addoption("--wheel", help="the wheel that is installed")
    parser.addoption("--fake-cuda", help="the folder of a libcuda.so.1 that writes down what is launched")


_taken = {}


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    """With --take-files, a file of tests belongs to the first process that comes to it. True says that nothing is left to do."""
    folder = item.config.getoption("--take-files")
    if folder is None:
        return None
    if item.path not in _taken:
        try:
            (pathlib.Path(folder) / item.path.name).touch(exist_ok=False)
            _taken[item.path] = True
        except FileExistsError:
            _taken[item.path] = False
    return None if _taken[item.path] else True
