"""Launches of an entry's kernels, as polyattn-gpu-model reads them (README.md)."""
import json
import math
import os
import struct
import subprocess

import kernels
from polybench import tools

BYTES = {"f32": 4, "bf16": 2, "f16": 2, "f64": 8, "i32": 4, "i64": 8}
# Parameters of a kernel for sm_90 begin here in constant bank 0.
PARAMETERS = 0x210
# Tensors begin at multiples of so many bytes.
FIRST_TENSOR, ALIGNMENT = 0x100000000000, 1 << 21
# Sequences that decode stand at different places of their local blocks.
FIRST_POSITION, POSITION_STEP = 1000, 37


def call_model(program, what, arguments):
    """The JSON object that polyattn-gpu-model prints."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise tools.Failure(what, lines[-1].split("error: ", 1)[-1])
    return json.loads(done.stdout)


class Call:
    """An entry's tensors and plan for the sizes of a call."""

    def __init__(self, entry_kernels, entry, sizes):
        if entry not in entry_kernels:
            raise tools.Failure(entry, "it has no kernel; there are " + ", ".join(entry_kernels))
        self.kernels = entry_kernels
        description = entry_kernels[entry].entry
        self.plan, self.tensors = description["plan"], description["tensors"]
        self.sizes = {"Hkv": sizes.get("H"), "Tk": sizes.get("T"), "P": sizes.get("B"), **sizes}
        self.shapes = [[self.size(size) for size in tensor["shape"]] for tensor in self.tensors]
        self.check(entry, sizes)

    def size(self, size):
        if isinstance(size, int):
            return size
        value = self.sizes.get(size)
        if value is None:
            raise tools.Failure("--sizes", f"{size} is missing")
        return value

    def check(self, entry, sizes):
        named = {size for tensor in self.tensors for size in tensor["shape"] if isinstance(size, str)}
        for size in sizes:
            if size not in named:
                raise tools.Failure("--sizes", f"{entry} has no size {size}; it has {', '.join(sorted(named))}")

    @staticmethod
    def extent(size):
        """A size of the plan as a line of the model has it."""
        if isinstance(size, int):
            return f"number 0 0 {size} 1 1"
        rest = f"{size.get('plus', 0)} {size.get('divided_by', 1)} {size.get('times', 1)}"
        if "choice" in size:
            return f"{size['choice']} 0 0 {rest}"
        return f"size {size['tensor']} {size['dimension']} {rest}"

    def plan_text(self, segments):
        lines = ["sizes " + " ".join(map(str, shape)) for shape in self.shapes]
        lines += [" ".join(["workspace", workspace["dtype"], *map(self.extent, workspace["shape"])])
                  for workspace in self.plan["workspaces"]]
        for stage in self.plan["stages"]:
            kernel = self.kernels[stage["function"]]
            lines.append(f"kernel {kernel.warps} {kernel.registers} {kernel.shared}")
            lines.append(" ".join(["stage", stage["kind"], str(stage["cluster"]), str(stage["scratch_bytes"]),
                                   *map(self.extent, stage["programs"])]))
        for choice in self.plan["choices"]:
            numbers = (choice.get(key, 0) for key in ("block", "multiple", "min_positions", "prefix_cost_percent",
                                                      "subsegments", "max", "bytes"))
            lines.append(" ".join(["choice", choice["choose"], *map(str, numbers), self.extent(choice["of"])]))
        if segments:
            lines.append(f"segments {segments}")
        return "\n".join(lines) + "\n"


def dense_strides(shape):
    return [math.prod(shape[dimension + 1:]) for dimension in range(len(shape))]


def whole_numbers(role, count, tokens):
    """What an argument of whole numbers holds where control depends on it: every sequence goes on."""
    return {"slots": list(range(count)), "lengths": [tokens] * count,
            "first_position": [FIRST_POSITION + POSITION_STEP * k for k in range(count)]}.get(role, [0] * count)


class Memory:
    """Places tensors one after another, and writes a line of each."""

    def __init__(self):
        self.next, self.lines = FIRST_TENSOR, []

    def place(self, size, words):
        base = self.next
        self.lines.append(f"tensor {base:#x} {max(size, 1)} {words}".rstrip())
        self.next += (max(size, 1) + 2 * ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        return base


def words_of_tensor(tensor, shape, tokens):
    """Where a tensor is, and its numbers: weights are small, so the second-level cache has them."""
    if tensor["dtype"] in ("i32", "i64"):
        numbers = whole_numbers(tensor["role"], math.prod(shape), tokens)
        code = "i" if tensor["dtype"] == "i32" else "q"
        return f"memory data {struct.pack(f'<{len(numbers)}{code}', *numbers).hex() or '00'}"
    shared = tensor["role"] == "weight" or all(isinstance(size, int) for size in tensor["shape"])
    return "l2" if shared and not tensor["result"] else "memory"


def launch_text(call, stage, programs, workspace_shapes, resident):
    """The launch of one stage, for `polyattn-gpu-model --launch`."""
    kernel = call.kernels[stage["function"]]
    memory, shapes, bases = Memory(), [], []
    for tensor, shape in zip(call.tensors, call.shapes):
        shapes.append(shape)
        if "in" in tensor:
            bases.append(bases[tensor["in"]])
        else:
            size = math.prod(shape) * BYTES[tensor["dtype"]]
            bases.append(memory.place(size, words_of_tensor(tensor, shape, call.sizes.get("T", 1))))
    for index in stage["workspaces"]:
        shapes.append(workspace_shapes[index])
        size = math.prod(shapes[-1]) * BYTES[call.plan["workspaces"][index]["dtype"]]
        bases.append(memory.place(size, "memory"))
    workspace = memory.place(programs * kernel.cluster * kernel.workspace_bytes, "workspace")
    lines = [f"warps {kernel.warps}", f"shared {kernel.shared}", f"registers {kernel.registers}",
             f"cluster {kernel.cluster}", f"programs {programs}", f"resident {resident}", *memory.lines]
    for index, parameter in enumerate(kernel.entry["parameters"]):
        kind, tensor = parameter["kind"], parameter.get("tensor")
        value = {"pointer": lambda: bases[tensor], "workspace": lambda: workspace, "profile": lambda: 0,
                 "size": lambda: shapes[tensor][parameter["dimension"]],
                 "stride": lambda: dense_strides(shapes[tensor])[parameter["dimension"]]}[kind]()
        lines.append(f"constant 0 {PARAMETERS + 8 * index} 64 {value}")
    lines += [f"tensor {base:#x} {len(data)} l2 data {data.hex()}" for base, data in kernel.tables]
    lines += [f"constant 4 {place} 64 {address}" for place, address in kernel.table_addresses]
    return "\n".join(lines) + "\n"


class Model:
    """Simulates the launches of a call."""

    def __init__(self, build, machine, settings=(), what_if=(), resident=0, profile=None):
        self.program = kernels.find_tool(build, "polyattn-gpu-model")
        self.machine = ["--machine", machine]
        for setting in settings:
            self.machine += ["--set", setting]
        self.options = []
        for change in what_if:
            self.options += ["--what-if", change]
        self.resident, self.profile = resident, profile
        # A plan without stages: only the machine and the what-ifs are read, before minutes of compilation.
        call_model(self.program, "polyattn-gpu-model", ["--plan", os.devnull, *self.machine, *self.options])

    def call(self, entry_kernels, entry, sizes, segments=0):
        """Milliseconds of all launches, the segments, and what was found of each launch."""
        call = Call(entry_kernels, entry, sizes)
        with tools.fresh_folder() as folder:
            path = os.path.join(folder, "plan")
            with open(path, "w") as file:
                file.write(call.plan_text(segments))
            choices = call_model(self.program, entry, ["--plan", path, *self.machine])
            launched = [self.simulate(folder, call, stage, programs, choices)
                        for stage, programs in zip(call.plan["stages"], choices["programs"]) if programs > 0]
        return {"entry": entry, "sizes": sizes, "segments": choices["segments"], "parts": choices["parts"],
                "milliseconds": sum(launch["milliseconds"] for launch in launched), "kernels": launched}

    def simulate(self, folder, call, stage, programs, choices):
        kernel = call.kernels[stage["function"]]
        path = os.path.join(folder, "launch")
        with open(path, "w") as file:
            file.write(launch_text(call, stage, programs, choices["workspaces"], self.resident))
        arguments = ["--sass", kernel.sass, "--kernel", kernel.name, "--launch", path, *self.machine, *self.options]
        if self.profile:
            arguments += ["--profile", f"{self.profile}.{kernel.name}"]
        return {"kernel": kernel.name, "stack": kernel.stack, **call_model(self.program, kernel.name, arguments)}


def extrapolate(model, entry_kernels, entry, sizes, segments, lengths):
    """Two lengths are modelled, and the time of the call's own length lies on a line with theirs."""
    if "T" not in sizes:
        raise tools.Failure("--lengths", "--sizes has no T")
    shorter, longer = (model.call(entry_kernels, entry, {**sizes, "T": length}, segments) for length in lengths)
    if (shorter["segments"], len(shorter["kernels"])) != (longer["segments"], len(longer["kernels"])):
        raise tools.Failure("--lengths", "the two lengths have other launches; name --segments, or longer lengths")
    steps = (sizes["T"] - lengths[0]) / (lengths[1] - lengths[0])

    def on_line(first, second):
        return first["milliseconds"] + (second["milliseconds"] - first["milliseconds"]) * steps
    for first, second in zip(shorter["kernels"], longer["kernels"]):
        second["milliseconds"] = on_line(first, second)
    return {**longer, "sizes": sizes, "lengths": list(lengths),
            "milliseconds": sum(launch["milliseconds"] for launch in longer["kernels"])}
