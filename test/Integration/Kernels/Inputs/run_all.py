"""`run_all.py SPEC_OR_FOLDER TARGET SIZES OPTION...`: every entry of the specs by polyattn-run --check, until one fails."""
import glob
import os
import re
import subprocess
import sys

where, target, sizes, options = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
for spec in sorted(glob.glob(os.path.join(where, "*.mlir"))) if os.path.isdir(where) else [where]:
    with open(spec) as file:
        entries = re.findall(r"polyattn\.attention @(\w+)", file.read())
    assert entries, spec
    for entry in entries:
        command = ["polyattn-run", spec, "--entry", entry, "--target", target, "--random", sizes, "--check", *options]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode or "passed" not in run.stdout:
            sys.exit(" ".join(command) + "\n" + run.stdout + run.stderr)
