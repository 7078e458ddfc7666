"""The JSON beside a GPU's kernel as what a launch passes; docs/GPU.md says what its keys mean.

Needs neither PyTorch nor Triton. include/polyattn/Launch and Target/Launch.h do the same in C++.
"""
from collections import namedtuple
from math import prod

# A parameter of the kernel: its type as Triton names it, the value, and the value in words.
Argument = namedtuple("Argument", "type value meaning")
# A tensor of a launch; strides in elements, `pointer` what Triton takes for one.
Tensor = namedtuple("Tensor", "name dtype shape strides pointer")

# The version of the descriptions that this file reads.
VERSION = 8
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
    for limit in description["polyattn"].get("limits", []):
        size = sizes.get(limit["size"], defaults.get(limit["size"]))
        if size is not None and size > limit["most"]:
            raise CallError(f"expected {limit['size']} <= {limit['most']}, got {size}")
    shapes = []
    for tensor in description["polyattn"]["tensors"]:
        shape = [sizes.get(n, defaults.get(n)) if isinstance(n, str) else n for n in tensor["shape"]]
        if None in shape:
            raise CallError(f"no size {tensor['shape'][shape.index(None)]} for '{tensor['name']}'")
        shapes.append(tuple(shape))
    return shapes


def check_version(description):
    """Descriptions of other versions say the same in other words."""
    version = description["polyattn"].get("version", 3)
    if version != VERSION:
        raise CallError(f"{description['name']}: a description of version {version}, expected {VERSION}")


def bind_size(size, shapes, segments):
    """times * ceil((the size of a caller's tensor, or S, + plus) / divided_by), or a number."""
    if isinstance(size, int):
        return size
    if "choice" in size:
        if size["choice"] != "segments":
            raise CallError(f"a choice of {size['choice']} is not known here")
        base = segments
    else:
        base = shapes[size["tensor"]][size["dimension"]]
    base = max(base + size.get("plus", 0), 0)
    return -(-base // size.get("divided_by", 1)) * size.get("times", 1)


def stage_of(description):
    """How the plan launches this kernel."""
    stages = description["polyattn"]["plan"]["stages"]
    return next(stage for stage in stages if stage["function"] == description["name"])


def workspaces(description, shapes, segments):
    """Name, dtype and shape of what the kernel has behind the caller's tensors; empty where S is 1."""
    spaces = description["polyattn"]["plan"]["workspaces"]
    return [(spaces[i]["name"], spaces[i]["dtype"],
             tuple(bind_size(size, shapes, segments) for size in spaces[i]["shape"]))
            for i in stage_of(description)["workspaces"]]


def grid(description, shapes, segments):
    """Programs, in one dimension: where one is a cluster of CTAs, Triton multiplies by num_ctas."""
    sizes = stage_of(description)["programs"]
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
