"""Prints the plan in the JSON of an entry's kernels, which all of them have, and checks it against the rest."""
import json
import sys

with open(sys.argv[1]) as file:
    kernels = json.load(file)
plan = kernels[0]["polyattn"]["plan"]
tensors = len(kernels[0]["polyattn"]["tensors"]) + len(plan["workspaces"])
assert {stage["function"] for stage in plan["stages"]} == {kernel["name"] for kernel in kernels}
for kernel in kernels:
    assert kernel["polyattn"]["plan"] == plan
    numbers = [p["tensor"] for p in kernel["polyattn"]["parameters"] if "tensor" in p]
    assert max(numbers) == tensors - 1
    stage = next(stage for stage in plan["stages"] if stage["function"] == kernel["name"])
    assert stage["scratch_bytes"] == kernel["global_scratch_size"] and stage["cluster"] == kernel["num_ctas"]
for stage in plan["stages"]:
    del stage["scratch_bytes"]
print(json.dumps({"version": kernels[0]["polyattn"]["version"], "plan": plan}, indent=1))
