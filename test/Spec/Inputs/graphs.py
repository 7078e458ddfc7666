"""Writes specs whose programs are graphs, as trees of 2^64 nodes, or deep, and compiles them:
graphs.py FOLDER. A walk over the tree would never end; a timeout is only there to say so."""

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
CASES = {
    "sums of a vector and itself": both([f"STEP = scale IN {{factor = 0.5}} {V}",
                                         f"OUT = add STEP, STEP {W}"], 64),
    "products of a vector and itself": both([f"OUT = hadamard IN, IN {W}"], 64),
    "doubled functions": both([f"STEP = tanh IN {V}", f"OUT = add STEP, STEP {W}"], 64),
    "residual steps": both([f"STEP = tanh IN {V}", f"OUT = add IN, STEP {W}"], 64),
    "residual projections": both(["STEP = project IN, %u : [8], 8x8", f"OUT = add IN, STEP {W}"], 64,
                                 weights=weight),
    "lengths of each other": both([f"STEP = tanh IN {V}", f"OUT = l2_rescale STEP, IN {W}"], 64),
    "powers": both([f"OUT = pow IN, IN {W}"], 64),
    "a chain of relu": both([f"OUT = relu IN {V}"], 10000),
    "a chain of scale": both([f"OUT = scale IN {{factor = 1.0001}} {V}"], 10000),
    "a chain of add_const": both([f"OUT = add_const IN {{value = 1.0}} {V}"], 10000),
    "groups of softmax": both(["OUT = softmax IN {groups = 128} : [512]"], 1, width=512),
}

failures = 0
path = os.path.join(folder, "spec.mlir")
commands = [
    ["polyattn-run", path, "--target", "reference", "--random", "B=1,T=3,H=1"],
    ["polyattn-compile", path, "--target", "x86-64-v3", "--emit", "tile", "-o", "/dev/null"],
    ["polyattn-compile", path, "--target", "x86-64-v3", "--emit", "asm", "-o", "/dev/null"],
    ["polyattn-compile", path, "--target", "sm_90", "--emit", "tile", "-o", "/dev/null"],
]
for name, text in CASES.items():
    with open(path, "w") as file:
        file.write(text)
    for command in commands:
        result = subprocess.run(command, capture_output=True, text=True, timeout=900)
        if result.returncode != 0:
            failures += 1
            print(f"{name}: {' '.join(command)} ended with {result.returncode}: "
                  f"{result.stderr[:300]}")
print(f"{len(CASES)} specs, {failures} failures")
sys.exit(failures != 0)
