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

STATES = ("state", "state_rows", "transpose_state", "scale_state", "stack_states", "join_states", "unfold_pairs")


def defined(name, type):
    """Ops that give an operand its value: vectors of ones, and states of these."""
    if power := re.fullmatch(r"sym (\d+) \[(\d+)\]", type):
        return (
            f"  {name}_base = polyattn.constant {{value = 1.0, width = {power[2]}}}\n"
            f"  {name} = polyattn.power {power[1]} {name}_base {{symmetric}} : [{power[2]}]\n"
        )
    if state := re.fullmatch(r"!polyattn\.state<(\d+) ?x ?(\d+)>", type):
        vectors = "".join(defined(f"{name}_{one}", f"[{width}]") for one, width in zip("kv", state.groups()))
        return f"{vectors}  {name} = polyattn.state key {name}_k value {name}_v causal : [{state[1]}], [{state[2]}]\n"
    return f"  {name} = polyattn.constant {{value = 1.0, width = {type[1:-1]}}}\n"


for number, line in enumerate(lines):
    body, _, types = line.partition(" = ")[2].rpartition(" : ")
    operands = re.findall(r"%\w+", body or line.partition(" = ")[2])
    types = types.split(" -> ")[0].replace("(", "").replace(")", "").split(", ") if operands else []
    assert len(operands) == len(types), line
    inside = ("attend", "weight_gradient", "convolve", "filter_gradient", *STATES)
    attention = any(f"polyattn.{op} " in line for op in ("read", "apply", *inside))
    constants = ""
    if any(f"polyattn.{op} " in line for op in inside):
        weights = [(name, type) for name, type in zip(operands, types) if re.fullmatch(r"\d+(x\d+)*", type)]
        constants = "".join(defined(*one) for one in zip(operands, types) if one not in weights)
        constants += "".join(f"  {name} = polyattn.read {name}_given : tensor<{type}xf32> -> {type}\n" for name, type in weights)
        operands, types = [f"{name}_given" for name, _ in weights], [f"tensor<{type}xf32>" for _, type in weights]
    arguments = ", ".join(f"{name}: {type}" for name, type in zip(operands, types))
    head = f"polyattn.feature_map @example_{number}({arguments}) {{\n"
    tail = "  yield %last : [1]\n}\n"
    if attention:
        head = f"polyattn.attention @example_{number}({arguments}) -> (last: tensor<?x?x?x1xf32>) {{\n"
        tail = "  return %last : [1]\n}\n"
    last = "  %last = polyattn.constant {value = 1.0, width = 1}\n"
    spec += f"{head}{constants}  {line}\n{last}{tail}"

print(f"// {len(programs)} programs, {len(lines)} ops\n{spec}")
