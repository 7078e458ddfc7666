"""Compiles chains of element-wise functions: chains.py FOLDER. What is computed in one nest of loops is
bounded, so the longest block of code does not grow with the chain, and the code grows no faster than it."""

import os
import re
import subprocess
import sys

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)


def chain(length, function):
    tensor = "tensor<?x?x?x16xf32>"
    lines = "".join(f"  %x{i + 1} = {function} %x{i} : [16]\n" for i in range(length))
    return (f"polyattn.attention @a(%q: {tensor}, %k: {tensor}, %v: {tensor}) -> (o: {tensor}) {{\n"
            f"  %x0 = read %q : {tensor} -> [16]\n  %y = read %k : {tensor} -> [16]\n"
            f"  %w = read %v : {tensor} -> [16]\n{lines}"
            f"  %o = attend query %x{length} key %y value %w causal normalize <none>\n"
            f"    {{grouping = #polyattn.grouping<block>}} : [16], [16], [16]\n"
            "  return %o : [16]\n}\n")


def compiled(length, function, target, emit):
    spec, output = os.path.join(folder, "spec.mlir"), os.path.join(folder, "code")
    with open(spec, "w") as file:
        file.write(chain(length, function))
    subprocess.run(["polyattn-compile", spec, "--target", target, "--emit", emit, "-o", output],
                   check=True, timeout=900)
    return output


def blocks(path):
    """The number of lines of each basic block of LLVM IR."""
    with open(path) as file:
        return [block.count("\n") for block in re.split(r"(?m)^(?:\d+:.*|})$", file.read())]


failures = 0
for function in ("tanh", "exp", "relu"):
    short, long = (blocks(compiled(length, function, "x86-64-v3", "llvm")) for length in (250, 1000))
    print(f"{function}: longest blocks {max(short)} and {max(long)}, "
          f"all {sum(short)} and {sum(long)} lines")
    failures += max(long) > 1.1 * max(short) + 500 or sum(long) > 5 * sum(short)
    compiled(1000, function, "x86-64-v3", "obj")
compiled(1000, "tanh", "sm_90", "ptx")
sys.exit(failures != 0)
