"""Prints the plans of entries in the JSON of a library, without the scratch that kernels happen to need."""
import json
import sys

with open(sys.argv[1]) as file:
    entries = {entry["entry"]: entry for entry in json.load(file)["entries"]}
for name in sys.argv[2:]:
    plan = entries[name]["plan"]
    for stage in plan["stages"]:
        assert stage.pop("scratch_bytes") >= 0
    print(json.dumps({"version": entries[name]["version"], "plan": plan}, indent=1))
