"""The JSON beside a GPU's kernel as what a launch passes; docs/GPU.md says what its keys mean.

Needs neither PyTorch nor Triton. include/polyattn/Target/Launch.h does the same in C++.
"""
from collections import namedtuple
from math import prod

# A parameter of the kernel: its type as Triton names it, the value, and the value in words.
Argument = namedtuple("Argument", "type value meaning")
# A tensor of a launch; strides in elements, `pointer` what Triton takes for one.
Tensor = namedtuple("Tensor", "name dtype shape strides pointer")

TRITON_TYPES = {"f32": "fp32", "bf16": "bf16", "f16": "fp16", "i32": "i32",
                "i64": "i64"}


class CallError(Exception):
    """Why there is no such launch, in a line."""


def dense(shape):
    return tuple(prod(shape[i + 1:]) for i in range(len(shape)))


def heads_outside(shape):
    """The strides of [B, T, H, d] where memory has [B, H, T, d], as PyTorch's attention wants it."""
    batch, positions, heads, width = shape
    return (heads * positions * width, width, positions * width, 1)


def bind_shapes(description, sizes):
    """The shapes of the caller's tensors, B, T, Tk, H and Hkv having been given numbers."""
    defaults = {"Tk": sizes.get("T"), "Hkv": sizes.get("H")}
    shapes = []
    for tensor in description["polyattn"]["tensors"]:
        shape = [sizes.get(n, defaults.get(n)) if isinstance(n, str) else n for n in tensor["shape"]]
        if None in shape:
            raise CallError(f"no size {tensor['shape'][shape.index(None)]} for '{tensor['name']}'")
        shapes.append(tuple(shape))
    return shapes


def bind_size(size, shapes, segments):
    """A number, the size of one of the caller's tensors, or S + k."""
    if isinstance(size, int):
        return size
    if "segments_plus" in size:
        return segments + size["segments_plus"]
    return shapes[size["tensor"]][size["dimension"]]


def hidden_shapes(description, shapes, segments):
    """Of the f32 tensors that the caller brings along; empty ones where S is 1."""
    return [tuple(bind_size(size, shapes, segments) for size in tensor["shape"])
            for tensor in description["polyattn"].get("hidden_tensors", [])]


def grid(description, shapes, segments):
    """Programs, in one dimension: where one is a cluster of CTAs, Triton multiplies by num_ctas."""
    sizes = description["polyattn"]["programs"]
    return (prod(bind_size(size, shapes, segments) for size in sizes), 1, 1)


def arguments(description, tensors):
    """What Triton's launcher passes for the caller.

    It appends two pointers on its own, global_scratch and profile_scratch: the workspace, of which
    it has its allocator bring global_scratch_size bytes for each CTA, and one that is not read.
    """
    *parameters, workspace, profile = description["polyattn"]["parameters"]
    if (workspace["kind"], profile["kind"]) != ("workspace", "profile"):
        raise CallError(f"{description['name']}: its last parameters are not those that Triton appends")
    result = []
    for parameter in parameters:
        tensor = tensors[parameter["tensor"]]
        if parameter["kind"] == "pointer":
            result.append(Argument("*" + TRITON_TYPES[tensor.dtype], tensor.pointer, tensor.name))
            continue
        # All are 64 bits wide: a Python int whose type Triton may choose would become i32.
        values = tensor.shape if parameter["kind"] == "size" else tensor.strides
        dimension = parameter["dimension"]
        result.append(Argument("i64", values[dimension],
                               f"{tensor.name}: {parameter['kind']} {dimension}"))
    return result
