"""Calls on a GPU, of which there is none: the driver is one that writes down what is launched, and arrays say that their
memory, which is the processor's, is a GPU's. What a launch computes is tested by the compiler's own tests."""

import os
import subprocess
import sys

import pytest
from conftest import SPECS

import polyattn

SETUP = """
import ctypes, json, sys, types
import numpy as np
import polyattn

SPECS = sys.argv[1]
get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class Array:
    'An array of a library that looks like CuPy.'

    def __init__(self, array, device=0):
        self.array, self.device, self.number = array, types.SimpleNamespace(id=device), device
        self.data = types.SimpleNamespace(ptr=array.ctypes.data)
        self.shape, self.dtype = array.shape, array.dtype

    def __dlpack_device__(self):
        return 2, self.number

    def __dlpack__(self, **how):
        capsule = self.array.__dlpack__()
        # DLTensor: data, then the device's kind and number.
        device = (ctypes.c_int32 * 2).from_address(get_pointer(capsule, b"dltensor") + 8)
        device[0], device[1] = 2, self.number
        return capsule


made = []
def empty(shape, dtype):
    'Memory that begins where that of a GPU would.'
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.empty(size + 256, "u1")
    start = -memory.ctypes.data % 256
    made.append(Array(memory[start:start + size].view(dtype).reshape(shape)))
    return made[-1]


STREAM = 0x1234560
current = types.SimpleNamespace(ptr=STREAM)
sys.modules["cupy"] = types.SimpleNamespace(
    ndarray=Array, empty=empty, cuda=types.SimpleNamespace(get_current_stream=lambda: current)
)
driver = ctypes.CDLL("libcuda.so.1")
driver.polyattn_fake_cuda_launches.restype = ctypes.c_char_p


def launches():
    return json.loads(driver.polyattn_fake_cuda_launches())


def arrays(count, *shape, dtype="f4"):
    return [Array(np.ones(shape, dtype)) for _ in range(count)]


def message(call, *arguments, **named):
    try:
        call(*arguments, **named)
    except polyattn.CallError as error:
        return str(error)
    raise AssertionError("no error")
"""


@pytest.fixture
def run(request):
    folder = request.config.getoption("--fake-cuda")
    if not folder:
        pytest.skip("no --fake-cuda")

    def run(program):
        environment = {**os.environ, "LD_LIBRARY_PATH": folder}
        done = subprocess.run(
            [sys.executable, "-c", SETUP + program, str(SPECS)], env=environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr

    return run


def test_calls_are_launches_on_the_current_stream(run):
    run("""
kernel = polyattn.compile(SPECS + "/linear.mlir", "linear", target="cuda")
q, k, v = arrays(3, 1, 70, 2, 64)
o = kernel(q, k, v=v)
assert isinstance(o, Array) and o.shape == (1, 70, 2, 64) and o.dtype == np.float32
(launch,) = launches()
assert launch["function"] == "linear" and launch["stream"] == STREAM
for array in (q, k, v, o):
    assert array.data.ptr in launch["parameters"]
other = empty((1, 70, 2, 64), "f4")
assert kernel(q, k, v, out=other) is other and other.data.ptr in launches()[-1]["parameters"]
""")


def test_workspace(run):
    """In segments, whose states need room."""
    run("""
kernel = polyattn.compile(SPECS + "/linear.mlir", "linear", target="cuda:0")
q, k, v = arrays(3, 1, 5120, 2, 64)
o = kernel(q, k, v)
prefix, last = launches()
workspace = [each for each in made if each is not o]
assert len(workspace) == 1 and workspace[0].dtype == np.uint8
for launch in (prefix, last):
    assert any(workspace[0].data.ptr <= p < workspace[0].data.ptr + workspace[0].shape[0] for p in launch["parameters"])
""")


def test_decoding_updates_pools_in_place(run):
    run("""
kernel = polyattn.compile(SPECS + "/linear.mlir", "linear", target="cuda", direction="decode")
names = [t.name for t in kernel.signature.arguments]
sizes = {"B": 2, "T": 70, "H": 2, "Hkv": 2, "P": 4}
def array(tensor):
    shape = [sizes.get(n, n) for n in tensor.shape]
    return Array(np.zeros(shape, {"f32": "f4", "i32": "i4", "i64": "i8"}[tensor.dtype]))
given = [array(t) for t in kernel.signature.arguments]
o, state, normalizer = kernel(*given)
assert state is given[names.index("state")]
""")


def test_few_tokens_are_launches_of_the_steps(run):
    """Though the stage that writes states back, which comes last, has no programs then."""
    run("""
kernel = polyattn.compile(SPECS + "/linear.mlir", "linear", target="cuda", direction="decode")
sizes = {"B": 2, "T": 1, "H": 2, "Hkv": 2, "P": 4}
def array(tensor):
    shape = [sizes.get(n, n) for n in tensor.shape]
    return Array(np.zeros(shape, {"f32": "f4", "i32": "i4", "i64": "i8"}[tensor.dtype]))
kernel(*[array(t) for t in kernel.signature.arguments])
assert [launch["function"] for launch in launches()] == ["linear__decode__step"], launches()
""")


def test_what_a_kernel_says_of_itself(run):
    run("""
kernel = polyattn.compile(SPECS + "/linear.mlir", "linear", target="cuda")
assert "tile.kernel @linear" in kernel.ir() and "warp." in kernel.ir("warp") and ".target sm_80" in kernel.ir("ptx")
assert "@linear" in kernel.explain() and kernel.describe()["target"] == "sm_80"
assert "a library has a processor's code" in message(kernel.save, "/nowhere")
""")


def test_calls_import_nothing(run):
    """But the first one."""
    run("""
import builtins
kernel = polyattn.compile(SPECS + "/linear.mlir", "linear", target="cuda")
q, k, v = arrays(3, 1, 70, 2, 64)
kernel(q, k, v)
imported, importing = [], builtins.__import__
builtins.__import__ = lambda name, *rest: imported.append(name) or importing(name, *rest)
kernel(q, k, v)
builtins.__import__ = importing
assert not [name for name in imported if name.startswith("polyattn")], imported
""")


def test_wrong_places(run):
    run("""
kernel = polyattn.compile(SPECS + "/linear.mlir", "linear", target="cuda")
q, k, v = arrays(3, 1, 70, 2, 64)
host = np.ones((1, 70, 2, 64), "f4")
assert "linear: argument 'q': expected a tensor of PyTorch or an array of CuPy in the memory of GPU 0, got numpy" in message(kernel, host, host, host)
assert "linear: argument 'k': expected an array in the memory of GPU 0" in message(kernel, q, host, v)
assert "linear: argument 'v': expected an array in the memory of GPU 0" in message(kernel, q, k, Array(host, device=1))
assert "linear: result 'o': expected a writable array in the memory of GPU 0" in message(kernel, q, k, v, out=host)
assert "linear: argument 'k': expected" in message(kernel, q, Array(np.ones((1, 70, 2, 32), "f4")), v)
assert "linear: argument 'k': expected element type f32, got f16" in message(kernel, q, Array(np.ones((1, 70, 2, 64), "f2")), v)
here = polyattn.compile(SPECS + "/linear.mlir", "linear")
assert "linear: argument 'q': expected an array in the processor's memory" in message(here, q, host, host)
assert launches() == []
assert "got 'cuda:x'" in message(polyattn.compile, SPECS + "/linear.mlir", "linear", target="cuda:x")
assert "cuDeviceGet" in message(polyattn.compile, SPECS + "/linear.mlir", "linear", target="cuda:7")
""")


def test_no_driver():
    """This machine may have a GPU, but not one of this number."""
    with pytest.raises(polyattn.CallError, match="there is no usable CUDA driver|cuDeviceGet|cuInit"):
        polyattn.compile(SPECS / "linear.mlir", "linear", target="cuda:99")


def test_operators_of_pytorch(run):
    """PyTorch without a GPU has no tensors there; what calls of its operators come to can be called with others."""
    pytest.importorskip("torch")
    run("""
import torch, polyattn.torch as pt
from polyattn.torch import _operators, _recipes
for operator in ("forward", "training", "backward", "decode"):
    assert torch._C._dispatch_has_kernel_for_dispatch_key("polyattn::" + operator, "CUDA"), operator
for operator in ("forward", "training", "decode"):
    assert torch._C._dispatch_has_kernel_for_dispatch_key("polyattn::" + operator, "AutocastCUDA"), operator

class Tensor(Array):
    is_cuda, requires_grad = True, False

    def __init__(self, array, device=0):
        super().__init__(array, device)
        self.device = types.SimpleNamespace(id=device, index=device, type="cuda")

    def stride(self):
        return tuple(x // self.array.itemsize for x in self.array.strides)

    def is_contiguous(self):
        return self.array.flags.c_contiguous

recipe = _recipes.find(pt.load(polyattn.library.linear(d=64))._handle)
q, k, v = (Tensor(np.ones((1, 70, 2, 64), "f4")) for _ in range(3))
for times in (1, 2):
    (o,) = _operators.call_kernel(recipe.kernel("f32"), [q, k, v])
    assert [each["stream"] for each in launches()] == [STREAM] * times
    assert o.data.ptr in launches()[-1]["parameters"]
results = _operators.call_kernel(recipe.half("f32", "training", 7), [q, k, v])
kept = _operators.call_kernel(recipe.half("f32", "backward", 7), [q, k, v, *(Tensor(each.array) for each in results), q])
assert [each.shape for each in kept] == [(1, 70, 2, 64)] * 3
assert len({each["function"] for each in launches()}) > 2
""")


def test_shapes_on_a_gpu():
    """torch.compile asks for these before anything is computed."""
    torch = pytest.importorskip("torch")
    import polyattn.torch as pt
    from torch._subclasses.fake_tensor import FakeTensorMode

    attention = pt.load(polyattn.library.linear(d=64))
    with FakeTensorMode():
        q, k, v = (torch.empty(2, 30, 4, 64, device="cuda") for _ in range(3))
        assert attention(q, k, v).device.type == "cuda"
        with pytest.raises(polyattn.CallError, match="on each of cpu and cuda"):
            attention(q, k.to("cpu"), v)

