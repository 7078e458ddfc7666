"""Every wrong call is one exception that says what is wrong; nothing is written, and the process lives."""

import os
import subprocess
import sys

import numpy as np
import pytest
from conftest import SPECS

import polyattn
from polyattn import CallError, SpecError


@pytest.fixture
def call(linear, qkv):
    """Calls with one argument replaced, and sees that the result stays as it was."""

    def run(*, out=None, **named):
        arrays = dict(zip("qkv", qkv), **named)
        own = np.full_like(qkv[0], 7) if out is None else out
        before = own.copy() if isinstance(own, np.ndarray) else None
        with pytest.raises(CallError) as info:
            linear(**{k: v for k, v in arrays.items() if v is not None}, out=own)
        if before is not None:
            assert np.array_equal(own, before)
        assert isinstance(info.value, ValueError) and "\n" not in str(info.value)
        return str(info.value)

    return run


def test_shapes(call, qkv):
    v = qkv[2]
    assert call(v=v[:1]) == (
        "linear: argument 'v': expected shape [B, T, Hkv, 64] with B = 2 as in 'q', got [1, 77, 3, 64]"
    )
    assert "got [2, 77, 3, 32]" in call(v=v[..., :32])
    assert "argument 'v': expected 4 dimensions [B, T, Hkv, 64], got 3" in call(v=v[0])
    assert "argument 'v': expected 4 dimensions" in call(v=np.float32(1).reshape(()))
    assert "at most 6 dimensions, got 7" in call(v=v.reshape((1, 1, 1, 2, 77, 3, 64)))
    assert "result 'o': expected shape" in call(out=np.zeros((2, 77, 3, 63), "f4"))


def test_element_types(call, qkv):
    v = qkv[2]
    assert "argument 'v': expected element type f32, got f64" in call(v=v.astype("f8"))
    assert "argument 'v': expected element type f32, got f16" in call(v=v.astype("f2"))
    for dtype in ("i1", "u2", "c8", "?", "O", "M8[s]", "S4", "V4"):
        message = call(v=np.zeros(v.shape, dtype))
        assert "argument 'v': expected an array of f32, f16 or bf16, got" in message, dtype
    assert "expected elements in the machine's byte order, got dtype >f4" in call(v=v.astype(">f4"))
    fields = np.zeros(v.shape, [("x", "f4"), ("y", "i1")])
    assert "argument 'v'" in call(v=fields)
    assert "expected strides of whole elements" in call(v=fields["x"])
    assert "result 'o': expected element type f32, got f64" in call(out=np.zeros(v.shape))


def test_strides(call, qkv):
    wide = np.zeros((2, 77, 3, 128), "f4")
    assert "expected an innermost stride of 1, got 2" in call(q=wide[..., ::2])
    assert "expected an innermost stride of 1, got -1" in call(q=qkv[0][..., ::-1])
    assert "data aligned to 4 bytes" in call(q=misaligned(qkv[0].shape))


def misaligned(shape):
    memory = np.zeros(int(np.prod(shape)) * 4 + 1, "u1")
    return memory[1:].view("f4").reshape(shape)


def test_results(call, qkv):
    shape = qkv[0].shape
    read_only = np.zeros(shape, "f4")
    read_only.flags.writeable = False
    assert call(out=read_only) == "linear: result 'o': expected a writable array, got a read-only one"
    assert "expected memory of its own, got that of argument 'k'" in call(out=qkv[1])
    folded = np.lib.stride_tricks.as_strided(np.zeros(shape, "f4"), shape, (0, 0, 256, 4))
    assert "expected elements that do not overlap" in call(out=folded)
    assert "out: expected 1 results (o), got 2" in call(out=(read_only, read_only))
    assert "unknown result 'x', expected o" in call(out={"x": read_only})


def test_names(call, qkv, linear):
    assert call(v=None) == "linear: argument 'v': is missing, expected q, k, v"
    assert call(w=qkv[0]) == "linear: unknown argument 'w', expected q, k, v"
    with pytest.raises(CallError, match=r"expected 3 arguments \(q, k, v\), got 4"):
        linear(*qkv, qkv[0])
    with pytest.raises(CallError, match="argument 'q': came twice"):
        linear(*qkv, q=qkv[0])


def test_no_arrays(call):
    for value in ([1.0], 1.0, "v", object(), b"1234", np.float32, print):
        assert "argument 'v': expected an array" in call(v=value)


class Liar:
    """Says that it has DLPack, and has none."""

    def __init__(self, device=(1, 0), answer=None):
        self.device, self.answer = device, answer

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        if self.answer is None:
            raise BufferError("nothing to export")
        return self.answer


def test_wrong_dlpack(call):
    assert "expected an array in the processor's memory" in call(v=Liar())
    assert "argument 'v'" in call(v=Liar(device=(2, 0)))
    assert "argument 'v'" in call(v=Liar(answer="no capsule"))


class Shifty(np.ndarray):
    """An array whose views are none."""

    def view(self, *kind):
        return []


def test_what_came_is_named(call):
    """Also where an array seemed to be one of bf16."""
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    array = np.zeros((2, 77, 3, 64), bfloat16).view(Shifty)
    assert "in the processor's memory, of f32, f16 or bf16 and at most 6 dimensions, got test_misuse Shifty" in call(v=array)


def test_threads(linear, qkv):
    with pytest.raises(CallError, match="expected at least 1 thread, got 0"):
        linear(*qkv, threads=0)
    for wrong in ("two", 1.5, True, object()):
        with pytest.raises(CallError, match=f"linear: threads: expected a whole number or None, got {type(wrong).__name__}$"):
            linear(*qkv, threads=wrong)
    assert np.array_equal(linear(*qkv, threads=np.int64(1)), linear(*qkv, threads=1))


def test_specs():
    with pytest.raises(SpecError) as info:
        polyattn.compile("polyattn.attention @a() -> () {\n  nonsense\n}\n")
    first = info.value.diagnostics[0]
    assert (first.file, first.severity) == ("spec", "error") and first.line >= 1
    assert str(first) in str(info.value)
    with pytest.raises(SpecError, match="native.mlir:1:1"):
        polyattn.compile(Built("native.mlir", "llvm.func @f()\n"))
    for hostile in ("{" * 100000, "\0\n", "\ud800\n", "polyattn." + "x" * 100000 + "\n", "ML\xefR\n"):
        with pytest.raises(SpecError):
            polyattn.compile(hostile)
    with pytest.raises(CallError, match="nothing to compile"):
        polyattn.compile("\n")


class Built:
    def __init__(self, name, text):
        self.name, self.text = name, text


def test_options(tmp_path):
    path = SPECS / "linear.mlir"
    for options, words in (
        (dict(), "expected the name of an entry, one of linear, "),
        (dict(entry="nobody"), "no entry 'nobody', expected one of linear, "),
        (dict(entry="linear", target="vax"), "unknown target 'vax', expected one of "),
        (dict(entry="linear", target="aarch64"), "cannot run on this machine"),
        (dict(entry="linear", dtype="f8"), "dtype: expected f32, bf16 or f16, got f8"),
        (dict(entry="linear", dtype=np.int8), "dtype: expected f32, bf16 or f16, got int8"),
        (dict(entry="linear", direction="sideways"), "direction: expected forward, training, backward, decode, states or"),
        (dict(entry="linear", wrt=["q"]), "wrt: expected direction training or backward"),
        (dict(entry="linear", direction="backward", wrt="q"), "wrt: expected a list of names"),
        (dict(entry="linear", direction="backward", wrt=["q", "kk"]), "did you mean 'k'"),
        (dict(entry="linear", direction="backward", wrt=[3]), "wrt: expected a list of names, got .3."),
        (dict(entry="linear", direction="backward", wrt=3), "wrt: expected a list of names, got 3"),
        (dict(entry="linear", direction=3), "direction: expected forward, .*got 3"),
        (dict(entry="linear", direction="backward", state_every=1.5), "state_every: expected 1 to 1024 positions, or None, got 1.5"),
        (dict(entry="linear", direction="backward", accumulate="no"), "accumulate: expected True or False, got 'no'"),
        (dict(entry="linear", packed="yes"), "packed: expected True or False, got 'yes'"),
        (dict(entry="linear", invariant=2), "invariant: expected True or False, got 2"),
        (dict(entry=3), "entry: expected a name, got int"),
        (dict(entry="linear", target=3), "target: expected a name, got int"),
        (dict(entry="linear", cache=3), "cache: expected a folder's path, got int"),
    ):
        with pytest.raises(CallError, match=words):
            polyattn.compile(path, **options)
    for spec in (3, None, b"linear"):
        with pytest.raises(CallError, match="spec: expected text, a path or a built spec"):
            polyattn.compile(spec)
    with pytest.raises(FileNotFoundError):
        polyattn.compile(tmp_path / "none.mlir")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, "/dev/zero"):
        with pytest.raises(CallError, match="spec: expected a regular file"):
            polyattn.compile(path)
    with pytest.raises(CallError, match="level: expected one of spec, schedule, tile"):
        polyattn.compile(SPECS / "relu.mlir").ir("ptx")
    kernel = polyattn.compile(SPECS / "relu.mlir", packed=np.False_)
    for call, words in (
        (lambda: kernel.ir(3), "level: expected a name, got int"),
        (lambda: kernel.save(3), "directory: expected a name, got int"),
        (lambda: kernel.save(tmp_path, 3), "library: expected a name, got int"),
    ):
        with pytest.raises(CallError, match=words):
            call()


def test_oracle():
    reference = polyattn.reference(SPECS / "linear.mlir", "linear")
    x = np.ones((1, 3, 2, 64))
    with pytest.raises(CallError, match="linear: .*'v'"):
        reference(x, x, x[:, :2])
    with pytest.raises(CallError, match="result 'o': expected element type f64, got f32"):
        reference(x, x, x, out=x.astype("f4"))
    with pytest.raises(CallError, match="argument 'k': is missing"):
        reference(x)
    for direction in ("training", "backward"):
        with pytest.raises(CallError, match=f"expected forward, decode, states or gradient_states of a reference, got {direction}"):
            polyattn.reference(SPECS / "linear.mlir", "linear", direction=direction)


def test_no_executable_memory():
    """Where a process may not make memory executable, the reason and what to do, and no names of symbols."""
    program = """
import ctypes, sys, polyattn
if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0) != 0:  # PR_SET_MDWE
    raise SystemExit(77)
try:
    polyattn.compile(polyattn.library.linear(d=8), cache="")
except polyattn.CallError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
    if done.returncode == 77:
        pytest.skip("this kernel cannot forbid executable memory")
    assert "does not let this process make memory executable (Permission denied)" in done.stdout, done.stderr
    assert "Kernel.save" in done.stdout and "polyattn_code" not in done.stdout


def test_memory():
    """A result larger than memory is an exception."""
    kernel = polyattn.compile(SPECS / "linear.mlir", "linear")
    huge = np.broadcast_to(np.float32(1), (1 << 20, 1 << 10, 1 << 10, 64))
    with pytest.raises((MemoryError, CallError)):
        kernel(huge, huge, huge)
