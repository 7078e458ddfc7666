"""Gradients of every entry of specs/ on one target, against the oracle's.

    every_entry.py SPECS OPTION...

Runs `polyattn-run --direction backward --check OPTION...` for every entry. `{H}` in an OPTION is the number of heads that an
entry fixes, or 2.
"""
import json
import pathlib
import subprocess
import sys

specs, *options = sys.argv[1:]


def run(*arguments):
    return subprocess.run(["polyattn-run", *arguments], capture_output=True, text=True)


def judge(path, about):
    entry = about["name"]
    fixed = [a["dims"][2] for a in about["arguments"] if a["role"] == "key" and isinstance(a["dims"][2], int)]
    heads = str(fixed[0] if fixed else 2)
    done = run(str(path), "--entry", entry, "--direction", "backward", "--check", *(o.replace("{H}", heads) for o in options))
    if done.returncode != 0:
        return f"exit status {done.returncode}: {(done.stderr or done.stdout).strip().splitlines()[-1]}"
    return None


failures = right = 0
for path in sorted(pathlib.Path(specs).glob("*.mlir")):
    if path.name == "bench.mlir":  # entries of the other files in sizes that take the oracle minutes
        continue
    for about in json.loads(run(str(path), "--describe", "--json").stdout)["entries"]:
        if any(a["role"] == "decay" and len(a["dims"]) == 4 for a in about["arguments"]):  # of each feature: no gradient yet
            continue
        wrong = judge(path, about)
        if wrong:
            failures += 1
            print(f"{path.name}: @{about['name']}: {wrong}")
        else:
            right += 1
print(f"{right} entries right, {failures} not")
sys.exit(failures != 0)
