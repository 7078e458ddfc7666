"""Writes the examples of the dialect reference as one spec: each op's example inside a map or an
attention whose arguments are the example's operands, and the whole programs as they stand."""

import re
import sys

text = open(sys.argv[1]).read()
programs = re.findall(r"```mlir\n(.*?)```", text, re.S)
lines = re.findall(r"^Example: `(%.*)`$", text, re.M)

elu = """polyattn.feature_map @elu(%x: [64]) {
  %phi = elu_plus_one %x : [64]
  yield %phi : [64]
}
"""
spec = elu + "".join(programs)

for number, line in enumerate(lines):
    body, _, types = line.partition(" = ")[2].rpartition(" : ")
    operands = re.findall(r"%\w+", body or line.partition(" = ")[2])
    types = types.split(" -> ")[0].replace("(", "").replace(")", "").split(", ") if operands else []
    assert len(operands) == len(types), line
    attention = any(f"polyattn.{op} " in line for op in ("read", "apply", "attend", "weight_gradient"))
    constants = ""
    if "polyattn.attend " in line or "polyattn.weight_gradient " in line:
        constants = "".join(
            f"  {name} = polyattn.constant {{value = 1.0, width = {type[1:-1]}}}\n"
            for name, type in zip(operands, types)
        )
        operands, types = [], []
    arguments = ", ".join(f"{name}: {type}" for name, type in zip(operands, types))
    head = f"polyattn.feature_map @example_{number}({arguments}) {{\n"
    tail = "  yield %last : [1]\n}\n"
    if attention:
        head = f"polyattn.attention @example_{number}({arguments}) -> (last: tensor<?x?x?x1xf32>) {{\n"
        tail = "  return %last : [1]\n}\n"
    last = "  %last = polyattn.constant {value = 1.0, width = 1}\n"
    spec += f"{head}{constants}  {line}\n{last}{tail}"

print(f"// {len(programs)} programs, {len(lines)} ops\n{spec}")
