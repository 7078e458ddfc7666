"""Kernels on arrays: right numbers, no copies, names, results, what they say of themselves."""

import pickle
import subprocess
import sys
import threading
import time

import ml_dtypes
import numpy as np
import pytest
from conftest import SPECS

import polyattn


def close(found, expected, tolerance=2e-6):
    scale = np.abs(expected).max()
    assert np.abs(np.asarray(found, "f8") - expected).max() <= tolerance * scale


def oracle(*arguments, entry="linear"):
    return polyattn.reference(SPECS / "linear.mlir", entry)(*arguments)


def test_numbers_are_the_oracles(linear, qkv):
    o = linear(*qkv)
    assert o.dtype == np.float32 and o.shape == qkv[0].shape
    close(o, oracle(*qkv))


def test_oracle_is_the_definition(qkv):
    def features(x):
        return np.exp(np.minimum(x, 0)) + np.maximum(x, 0)

    q, k, v = (x.astype("f8") for x in qkv)
    scores = np.einsum("bihd,bjhd->bhij", features(q), features(k))
    scores *= np.tril(np.ones(scores.shape[-2:]))
    expected = np.einsum("bhij,bjhd->bihd", scores, v)
    expected /= scores.sum(-1).transpose(0, 2, 1)[..., None] + 1e-6
    found = oracle(q, k, v)
    assert found.dtype == np.float64
    close(found, expected, 1e-13)


def test_arguments_by_position_and_by_name(linear, qkv):
    q, k, v = qkv
    expected = linear(q, k, v)
    assert np.array_equal(linear(q, v=v, k=k), expected)
    assert np.array_equal(linear(v=v, k=k, q=q, threads=1), linear(q, k, v, threads=1))


def test_out_is_written_in_place(linear, qkv):
    out = np.full_like(qkv[0], np.nan)
    for given in (out, (out,), [out], {"o": out}):
        out[:] = np.nan
        assert linear(*qkv, out=given) is out
        close(out, oracle(*qkv))


@pytest.mark.parametrize("dtype", ["f4", "f2", ml_dtypes.bfloat16])
def test_new_results_begin_on_cache_lines(dtype, rng):
    """NumPy's large arrays begin 16 bytes behind a page, where each vector of 64 bytes is in two lines."""
    kernel = polyattn.compile(SPECS / "linear.mlir", "linear_states", dtype=np.dtype(dtype))
    for length in (0, 1, 300, 20000):
        qkv = [np.abs(rng.standard_normal((1, length, 2, 64))).astype(dtype) for _ in range(3)]
        states = np.zeros((1, 2, 64, 64), "f4"), np.zeros((1, 2, 64), "f4")
        o, s, z = kernel(*qkv, *states, threads=1)
        assert (o.shape, s.shape, z.shape) == (qkv[0].shape, (1, 2, 64, 64), (1, 2, 64))
        assert o.dtype == dtype and o.flags.c_contiguous and o.flags.writeable
        assert o.size < 1 << 18 or o.ctypes.data % 64 == 0
        given = [np.full_like(x, np.nan) for x in (o, s, z)]
        kernel(*qkv, *states, out=tuple(given), threads=1)
        assert all(map(np.array_equal, given, (o, s, z)))


def test_several_results(rng, qkv):
    kernel = polyattn.compile(SPECS / "linear.mlir", "linear_states")
    state = rng.standard_normal((2, 3, 64, 64)).astype("f4") ** 2
    state_z = rng.standard_normal((2, 3, 64)).astype("f4") ** 2
    final = np.full_like(state, np.nan)
    o, got, final_z = kernel(*qkv, state, state_z=state_z, out={"final": final})
    assert got is final
    for found, expected in zip((o, final, final_z), oracle(*qkv, state, state_z, entry="linear_states")):
        close(found, expected, 1e-5)
    assert [x.name for x in kernel.signature.results] == ["o", "final", "final_z"]


def test_views_are_read_where_they_are(linear, rng):
    """Interleaved buffers, heads before positions, reversed time, an expanded batch: the same bits."""
    qkv = rng.standard_normal((2, 50, 3, 3, 64)).astype("f4")
    q, k, v = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
    expected = linear(q.copy(), k.copy(), v.copy(), threads=1)
    assert np.array_equal(linear(q, k, v, threads=1), expected)
    head_major = [x.transpose(0, 2, 1, 3).copy().transpose(0, 2, 1, 3) for x in (q, k, v)]
    assert np.array_equal(linear(*head_major, threads=1), expected)
    backwards = [x[:, ::-1].copy()[:, ::-1] for x in (q, k, v)]
    assert np.array_equal(linear(*backwards, threads=1), expected)
    one = [np.broadcast_to(x[:1], x.shape) for x in (q, k, v)]
    assert np.array_equal(linear(*one, threads=1)[1], expected[0])
    out = np.full((2, 3, 50, 64), np.nan, "f4").transpose(0, 2, 1, 3)
    linear(q, k, v, out=out, threads=1)
    assert np.array_equal(out, expected)


def test_read_only_arguments(linear, qkv):
    expected = linear(*qkv, threads=1)
    for x in qkv:
        x.flags.writeable = False
    assert np.array_equal(linear(*qkv, threads=1), expected)


def test_transposed_weights(rng):
    kernel = polyattn.compile(SPECS / "based.mlir", "based_tensor")
    qkv = [rng.standard_normal((1, 20, 2, 64)).astype("f4") for _ in range(3)]
    w = [rng.standard_normal((64, 16)).astype("f4") for _ in range(2)]
    transposed = [x.T.copy().T for x in w]
    assert np.array_equal(kernel(*qkv, *w), kernel(*qkv, *transposed))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_16_bit_storage(rng, dtype):
    kernel = polyattn.compile(SPECS / "linear.mlir", "linear", dtype=dtype)
    qkv = [rng.standard_normal((1, 40, 2, 64)).astype(dtype) for _ in range(3)]
    o = kernel(*qkv)
    assert o.dtype == dtype
    close(o, oracle(*(x.astype("f4") for x in qkv)), 1e-2)
    out = np.zeros_like(qkv[0])
    assert kernel(*qkv, out=out) is out
    assert np.array_equal(out.view("u2"), o.view("u2"))


def test_names_of_dtypes(linear):
    for dtype in ("bf16", "bfloat16", ml_dtypes.bfloat16, np.dtype(ml_dtypes.bfloat16)):
        kernel = polyattn.compile(SPECS / "linear.mlir", "linear", dtype=dtype)
        assert {x.dtype for x in kernel.signature.arguments} == {"bf16"}


class Capsule:
    """An array of another library: all that is known of it is DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack(linear, qkv):
    expected = linear(*qkv, threads=1)
    found = linear(*map(Capsule, qkv), threads=1)
    assert isinstance(found, np.ndarray) and np.array_equal(found, expected)
    out = np.zeros_like(expected)
    holder = Capsule(out)
    assert linear(*qkv, out=holder, threads=1) is holder
    assert np.array_equal(out, expected)


class Lender(Capsule):
    """Exports memory that ends with the export."""

    def __dlpack__(self, **options):
        return self.array.copy().__dlpack__(**options)


def test_exports_live_as_long_as_the_call(linear, rng):
    qkv = [rng.standard_normal((1, 5000, 4, 64)).astype("f4") for _ in range(3)]
    expected = linear(*qkv, threads=1)
    assert np.array_equal(linear(*map(Lender, qkv), threads=1), expected)


def test_no_positions(linear):
    empty = np.zeros((2, 0, 3, 64), "f4")
    assert linear(empty, empty, empty).shape == (2, 0, 3, 64)
    assert oracle(empty, empty, empty).shape == (2, 0, 3, 64)


def test_text_path_and_kept_signature(linear):
    text = (SPECS / "linear.mlir").read_text()
    kernels = [polyattn.compile(spec, "linear") for spec in (text, str(SPECS / "linear.mlir"))]
    assert all(kernel.signature == linear.signature for kernel in kernels)
    assert str(linear.signature).startswith("linear(q: f32[B, T, H, 64], k: f32[B, T, Hkv, 64]")
    assert linear.describe()["entry"] == "linear"


def test_explain_and_ir(linear):
    assert "a state" in linear.explain()
    assert "tile.kernel @linear" in linear.ir("tile") == linear.ir()
    assert "polyattn.attention" in linear.ir("schedule")
    assert "llvm.func" in linear.ir("llvm")
    other = polyattn.compile(SPECS / "linear.mlir", "linear", dtype="bf16")
    assert "bf16" in other.ir() and "bf16" not in linear.ir()


def test_save(linear, tmp_path):
    linear.save(tmp_path)
    assert {x.name for x in tmp_path.iterdir()} == {"liblinear.so", "linear.h", "linear.json"}
    linear.save(tmp_path, "other")
    assert (tmp_path / "libother.so").exists()
    with pytest.raises(polyattn.CallError, match="library: expected a name without folders"):
        linear.save(tmp_path, "a/b")


def test_cache_is_used(tmp_path):
    for _ in range(2):
        polyattn.compile(SPECS / "linear.mlir", "linear", cache=tmp_path)
        assert len(list(tmp_path.iterdir())) == 1


def test_two_threads_call_one_kernel(linear, qkv):
    expected = linear(*qkv, threads=1)
    wrong = []

    def work():
        for _ in range(50):
            if not np.array_equal(linear(*qkv, threads=1), expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong


@pytest.mark.parametrize("what", ["call", "compile"])
def test_others_run_meanwhile(rng, what):
    """The interpreter's lock is free while a kernel runs or is compiled."""
    kernel = polyattn.compile(SPECS / "linear.mlir", "linear")
    qkv = [np.broadcast_to(np.ones(64, "f4"), (1, 200000, 1, 64)) for _ in range(3)]
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    if what == "call":
        kernel(*qkv, threads=1)
    else:
        polyattn.compile(SPECS / "polysketch-learned.mlir", "polysketch_learned")
    end = time.perf_counter()
    done.set()
    thread.join()
    during = [x for x in ticks if start < x < end]
    assert len(during) >= 3


def test_fork(linear, qkv):
    """A child computes and compiles after its parent's threads have worked."""
    program = f"""
import os, sys
import numpy as np, polyattn
path = {str(SPECS / "linear.mlir")!r}
kernel = polyattn.compile(path, "linear", cache="")
x = np.ones((1, 3000, 4, 64), "f4")
kernel(x, x, x, threads=4)
child = os.fork()
if child == 0:
    fine = abs(kernel(x, x, x, threads=4) - 1).max() < 1e-5
    other = polyattn.compile(path, "linear_full", cache="")
    os._exit(0 if fine and abs(other(x, x, x) - 1).max() < 1e-5 else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_states_of_packed_sequences_have_a_size(rng):
    """N, which offsets give, is no size of zero."""
    text = """
polyattn.attention @packed(%q: tensor<?x?x?x4xf32>, %at: tensor<?xi64>)
    -> (o: tensor<?x?x?x4xf32>, f: tensor<?x?x4x4xf32>) packed %at {
  %a = read %q : tensor<?x?x?x4xf32> -> [4]
  %o:2 = attend query %a key %a value %a causal normalize <none> {final_state} : [4], [4], [4]
  return %o#0, %o#1 : [4], tensor<?x?x4x4xf32>
}
"""
    q = rng.standard_normal((1, 30, 2, 4)).astype("f4")
    at = np.array([0, 7, 30])
    _, states = polyattn.compile(text)(q, at)
    assert states.shape == (2, 2, 4, 4)
    for state, part in zip(states, (q[0, :7], q[0, 7:])):
        assert np.allclose(state, np.einsum("thi,thj->hij", part, part), atol=1e-4)


def test_kernels_pickle(qkv):
    """By their spec and options."""
    spec = polyattn.library.linear(64)
    kernel = polyattn.compile(spec, dtype="bf16", direction="decode")
    again = pickle.loads(pickle.dumps(kernel))
    assert again.signature == kernel.signature and again.describe() == kernel.describe()
    kernel = polyattn.compile(spec)
    kernel.threads = 1
    again = pickle.loads(pickle.dumps(kernel))
    assert again.threads == 1 and (again(*qkv) == kernel(*qkv)).all()
    exact = polyattn.reference(spec)
    assert (pickle.loads(pickle.dumps(exact))(*qkv) == exact(*qkv)).all()
