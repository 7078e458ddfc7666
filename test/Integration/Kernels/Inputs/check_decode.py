"""Derives the decoding entry of each entry of a spec, and runs it with `polyattn-run --check`.

    check_decode.py SPEC... -- OPTIONS

Prints a line for each entry that has none, with the reason.
"""
import os
import re
import subprocess
import sys
import tempfile


def call(*command, text=None):
    return subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def entries_of(spec):
    """The simplified entries of a spec, each as a module of its own."""
    done = call("polyattn-opt", "--polyattn-inline-maps", "--polyattn-simplify-features", spec)
    if done.returncode:
        sys.exit(done.stdout)
    return re.findall(r"^  polyattn\.attention @(\w+)(.*?^  \}$)", done.stdout, re.MULTILINE | re.DOTALL)


specs, options = sys.argv[1:sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1:]
failed = []
with tempfile.TemporaryDirectory() as folder:
    for spec in specs:
        for name, rest in entries_of(spec):
            derived = call("polyattn-opt", "--polyattn-derive-decode", text=f"polyattn.attention @{name}{rest}")
            if derived.returncode:
                print(f"{name}:", re.search(r"error: (.*)", derived.stdout)[1])
                continue
            path = os.path.join(folder, "decode.mlir")
            with open(path, "w") as file:
                file.write(derived.stdout.replace("__decode", "_decode"))
            done = call("polyattn-run", path, "--check", *options)
            if done.returncode:
                failed.append(f"{name}: {done.stdout}")
sys.exit("\n".join(failed) or None)
