"""Gradients of every entry of specs/ on one target, against the oracle's.

    every_entry.py SPECS REFUSED OPTION...

Runs `polyattn-run --direction backward --check OPTION...` for every entry. REFUSED lists those that the compiler refuses yet,
NAME a line, with a located diagnostic; a `*` at the end of a name stands for anything. An entry that is listed and compiled is
as wrong as one that is not listed and refused. `{H}` in an OPTION is the number of heads that an entry fixes, or 2.
"""
import fnmatch
import json
import pathlib
import re
import subprocess
import sys

specs, refused_file, *options = sys.argv[1:]
lines = pathlib.Path(refused_file).read_text().splitlines()
refused = [line.split("#")[0].strip() for line in lines if line.split("#")[0].strip()]
LOCATED = re.compile(r"\S+\.mlir:\d+:\d+: error: .* (are not compiled yet|has no gradient|of different masks)", re.MULTILINE)


def run(*arguments):
    return subprocess.run(["polyattn-run", *arguments], capture_output=True, text=True)


def judge(path, about):
    entry = about["name"]
    fixed = [a["dims"][2] for a in about["arguments"] if a["role"] == "key" and isinstance(a["dims"][2], int)]
    heads = str(fixed[0] if fixed else 2)
    done = run(str(path), "--entry", entry, "--direction", "backward", "--check", *(o.replace("{H}", heads) for o in options))
    is_refused = done.returncode == 1 and LOCATED.match(done.stderr) is not None
    is_listed = any(fnmatch.fnmatch(entry, name) for name in refused)
    if is_refused:
        return None if is_listed else f"refused: {done.stderr.splitlines()[0]}"
    if done.returncode != 0:
        return f"exit status {done.returncode}: {(done.stderr or done.stdout).strip().splitlines()[-1]}"
    return f"compiled and right: take it off {refused_file}" if is_listed else None


failures = compiled = 0
for path in sorted(pathlib.Path(specs).glob("*.mlir")):
    if path.name == "bench.mlir":  # entries of the other files in sizes that take the oracle minutes
        continue
    for about in json.loads(run(str(path), "--describe", "--json").stdout)["entries"]:
        wrong = judge(path, about)
        if wrong:
            failures += 1
            print(f"{path.name}: @{about['name']}: {wrong}")
        else:
            compiled += 1
print(f"{compiled} entries as listed, {failures} not")
sys.exit(failures != 0)
