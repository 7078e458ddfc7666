"""Writes specs whose programs are graphs, as trees of 2^64 nodes, or deep, and compiles them:
graphs.py FOLDER. A walk over the tree would never end; a timeout is only there to say so. What is
compiled of twice the steps has twice the ops, in every direction."""

import os
import subprocess
import sys

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)


def spec(width, query, key, weights=""):
    """`query` and `key` are lists of lines that begin with x0 and y0, and the names of their ends."""
    tensor = f"tensor<?x?x?x{width}xf32>"
    more = f", %m: tensor<{width}x{width}xf32>" if weights else ""
    return (f"polyattn.attention @a(%q: {tensor}, %k: {tensor}, %v: {tensor}{more}) -> (o: {tensor}) {{\n"
            f"  %x0 = read %q : {tensor} -> [{width}]\n"
            f"  %y0 = read %k : {tensor} -> [{width}]\n"
            f"  %w = read %v : {tensor} -> [{width}]\n{weights}" +
            "".join(f"  {line}\n" for line in query[0] + key[0]) +
            f"  %o = attend query {query[1]} key {key[1]} value %w causal normalize <none>\n"
            f"    {{grouping = #polyattn.grouping<block>}} : [{width}], [{width}], [{width}]\n"
            f"  return %o : [{width}]\n}}\n")


def repeat(lines, count, name):
    """`lines` with NAME_i for the input of step i and NAME_j for its output."""
    text = []
    for i in range(count):
        text += [line.replace("IN", f"%{name}{i}").replace("OUT", f"%{name}{i + 1}").replace(
            "STEP", f"%{name}s{i}") for line in lines]
    return text, f"%{name}{count}"


def both(lines, count, width=8, weights=""):
    return spec(width, repeat(lines, count, "x"), repeat(lines, count, "y"), weights)


V, W = ": [8]", ": [8], [8]"
weight = "  %u = read %m : tensor<8x8xf32> -> 8x8\n"
CHAINS = {
    "sums of a vector and itself": ([f"STEP = scale IN {{factor = 0.5}} {V}",
                                     f"OUT = add STEP, STEP {W}"], ""),
    "products of a vector and itself": ([f"OUT = hadamard IN, IN {W}"], ""),
    "doubled functions": ([f"STEP = tanh IN {V}", f"OUT = add STEP, STEP {W}"], ""),
    "residual steps": ([f"STEP = tanh IN {V}", f"OUT = add IN, STEP {W}"], ""),
    "residual projections": (["STEP = project IN, %u : [8], 8x8", f"OUT = add IN, STEP {W}"], weight),
    "lengths of each other": ([f"STEP = tanh IN {V}", f"OUT = l2_rescale STEP, IN {W}"], ""),
    "powers": ([f"OUT = pow IN, IN {W}"], ""),
}


def chain(name, steps):
    lines, weights = CHAINS[name]
    return both(lines, steps, weights=weights)


CASES = {name: chain(name, 64) for name in CHAINS} | {
    "a chain of relu": both([f"OUT = relu IN {V}"], 10000),
    "a chain of scale": both([f"OUT = scale IN {{factor = 1.0001}} {V}"], 10000),
    "a chain of add_const": both([f"OUT = add_const IN {{value = 1.0}} {V}"], 10000),
    "groups of softmax": both(["OUT = softmax IN {groups = 128} : [512]"], 1, width=512),
}

failures = 0
path, output = os.path.join(folder, "spec.mlir"), os.path.join(folder, "output")


def run(name, text, command):
    """Whether the command takes the spec."""
    global failures
    with open(path, "w") as file:
        file.write(text)
    result = subprocess.run(command, capture_output=True, text=True, timeout=900)
    if result.returncode != 0:
        failures += 1
        print(f"{name}: {' '.join(command)} ended with {result.returncode}: {result.stderr[:300]}")
    return result.returncode == 0


commands = [
    ["polyattn-run", path, "--target", "reference", "--random", "B=1,T=3,H=1"],
    ["polyattn-compile", path, "--target", "x86-64-v3", "--emit", "tile", "-o", "/dev/null"],
    ["polyattn-compile", path, "--target", "x86-64-v3", "--emit", "asm", "-o", "/dev/null"],
    ["polyattn-compile", path, "--target", "sm_90", "--emit", "tile", "-o", "/dev/null"],
]
for name, text in CASES.items():
    for command in commands:
        run(name, text, command)


def ops(name, steps, direction, target, emit):
    """The lines of what is compiled, an op each; none where it is not."""
    command = ["polyattn-compile", path, "--direction", direction, "--target", target, "--emit", emit,
               "-o", output]
    if not run(f"{name}, {steps} steps", chain(name, steps), command):
        return None
    with open(output) as file:
        return sum(1 for _ in file)


# 64 and 128 places of one pair of vectors, whose slopes are the gradient of one vector. With such a factor they
# stay the products that they are.
for levels in (6, 7):
    lines = {side: [f"%{side}s0 = scale %{side}0 {{factor = 0.5}} {V}"] +
                   [f"%{side}s{i + 1} = tensor %{side}s{i}, %{side}s{i} : TYPE{i}, TYPE{i}" for i in range(levels)]
             for side in "xy"}
    text = spec(8, (lines["x"], f"%xs{levels}"), (lines["y"], f"%ys{levels}"))
    text = text.replace(": [8], [8], [8]\n  return", f": TYPE{levels}, TYPE{levels}, [8]\n  return")
    for i in range(levels, -1, -1):
        factor = f"(TYPE{i - 1})" if i > 1 else "[8]"
        text = text.replace(f"TYPE{i}", f"{factor} x {factor}" if i else "[8]")
    run(f"products of products, {levels} levels", text,
        ["polyattn-compile", path, "--direction", "training", "--target", "x86-64-v3", "--emit", "tile",
         "-o", output])

for name in CHAINS:
    for direction in ("forward", "training", "decode", "states", "gradient_states"):
        for target, emit in (("x86-64-v3", "llvm"), ("sm_90", "warp")):
            counts = [ops(name, steps, direction, target, emit) for steps in (32, 64)]
            if None not in counts and counts[1] > 2.2 * counts[0]:
                failures += 1
                print(f"{name}, {direction}, {target}: {counts[0]} ops of 32 steps and {counts[1]} of 64")
print(f"{len(CASES)} specs, {failures} failures")
sys.exit(failures != 0)
