"""Puts a NaN or an Inf into one element of q, k or v and looks where the results change:
`contain.py SPEC ENTRY --sizes B=..,T=.. --at BATCH,POSITION,HEAD -- OPTIONS`.

Nothing but NaN and Inf may come out where it must spread, and the same bits as without it
everywhere else: other batches, heads that do not read it, and earlier positions.
"""
import argparse
import json
import math
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import npy  # noqa: E402
from tools import call  # noqa: E402


def touched(name, at, row, group):
    """Whether the result's row may and must see the element."""
    (batch, position, head), (row_batch, row_position, row_head) = at, row
    if batch != row_batch:
        return False
    if name == "q":
        return row_position == position and row_head == head
    return row_position >= position and row_head // group == head


def check(name, bad, at, before, after, group):
    """The first row that is not what it must be, or None; and how many rows changed."""
    batches, positions, heads = before.shape[:3]
    changed = 0
    for row in ((b, t, h) for b in range(batches) for t in range(positions)
                for h in range(heads)):
        old, new = before.at(*row), after.at(*row)
        assert all(math.isfinite(x) for x in old)
        if not touched(name, at, row, group):
            if new.tobytes() != old.tobytes():
                return f"{name} = {bad} at {at} changed row {row}", changed
        elif all(math.isfinite(x) for x in new):
            return f"{name} = {bad} at {at} is lost in row {row}", changed
        else:
            changed += 1
    return None, changed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("spec")
    parser.add_argument("entry")
    parser.add_argument("--sizes", required=True)
    parser.add_argument("--at", required=True, type=lambda text: tuple(map(int, text.split(","))))
    parser.add_argument("--values", type=lambda text: text.split(","), default=["nan", "inf"])
    split = sys.argv.index("--")
    given, options = parser.parse_args(sys.argv[1:split]), sys.argv[split + 1:]
    run = ["polyattn-run", given.spec, "--entry", given.entry] + options
    described = json.loads(call("polyattn-run", given.spec, "--entry", given.entry, "--describe",
                                "--json"))["entries"][0]
    names = [argument["name"] for argument in described["arguments"]]
    with tempfile.TemporaryDirectory() as folder:
        def path(name):
            return os.path.join(folder, name + ".npy")

        call(*run, f"--random={given.sizes}", "--save-inputs", folder, f"--output=o={path('o')}")
        before = npy.read(path("o"))
        for name in ["q", "k", "v"]:
            for bad in given.values:
                tensor = npy.read(path(name))
                group = before.shape[2] // tensor.shape[2]
                batch, position, head = given.at
                at = (batch, position, head if name == "q" else head // group)
                tensor.put((*at, min(3, tensor.shape[3] - 1)), float(bad))
                npy.write(path("bad"), tensor)
                inputs = [f"--input={n}={path('bad' if n == name else n)}" for n in names]
                call(*run, *inputs, f"--output=o={path('changed')}")
                failure, changed = check(name, bad, at, before, npy.read(path("changed")), group)
                if failure or not changed:
                    sys.exit(f"@{given.entry} {' '.join(options)}: {failure or 'nothing changed'}")
    print(f"@{given.entry}: contained")


if __name__ == "__main__":
    main()
