"""Follows the PTX of every kernel of specs: copies.py TARGET SPEC... No thread may end with copies on their way
(cp.async), on whatever way it comes to the end. Branches are taken to go either way."""

import re
import subprocess
import sys

DIRECTIONS = ("forward", "training", "decode")


def kernels(text):
    """The name and the instructions of each kernel."""
    for name, body in re.findall(r"\.entry (\w+)\([^)]*\)[^{]*\{(.*?)^\}", text, re.S | re.M):
        yield name, [line.strip() for line in body.splitlines() if line.strip()]


def blocks(lines):
    """Straight pieces of code: the label, the instructions, and the labels behind it, or an index."""
    pieces, label, code = [], None, []
    for line in lines:
        name = re.fullmatch(r"(\$\w+):.*", line)
        branch = re.match(r"(@!?%p\d+ )?bra(?:\.uni)?\s+(\$\w+);", line)
        if name:
            pieces.append((label, code, [len(pieces) + 1]))
            label, code = name[1], []
        elif branch:
            behind = [branch[2]] + ([len(pieces) + 1] if branch[1] else [])
            pieces.append((label, code, behind))
            label, code = None, []
        elif line == "ret;":
            pieces.append((label, code + [line], []))
            label, code = None, []
        else:
            code.append(line)
    pieces.append((label, code, []))
    return pieces


def leaves_copies(lines):
    """Whether a way to an end has copies that no wait follows."""
    pieces = blocks(lines)
    place = {label: i for i, (label, _, _) in enumerate(pieces) if label}
    seen, todo = set(), [(0, False)]
    while todo:
        state = todo.pop()
        if state in seen:
            continue
        seen.add(state)
        index, pending = state
        _, code, behind = pieces[index]
        for line in code:
            assert not line.startswith("brx"), line
            if line.startswith(("cp.async.wait_group \t0", "cp.async.wait_group 0", "cp.async.wait_all")):
                pending = False
            elif line.startswith(("cp.async.ca", "cp.async.cg")):
                pending = True
            elif line == "ret;" and pending:
                return True
        todo += [(place.get(label, label), pending) for label in behind]
    return False


failures = copying = count = 0
for spec in sys.argv[2:]:
    for direction in DIRECTIONS:
        command = ["polyattn-compile", spec, "--target", sys.argv[1], "--storage", "bf16", "--direction",
                   direction, "--emit", "ptx", "-o", "-"]
        result = subprocess.run(command, capture_output=True, text=True)
        assert result.returncode == 0 or "error:" in result.stderr, (command, result.stderr)
        for name, lines in kernels(result.stdout):
            count += 1
            copying += any(line.startswith("cp.async.c") for line in lines)
            if leaves_copies(lines):
                failures += 1
                print(f"{spec}, {direction}: {name} may end with copies on their way")
print(f"{count} kernels, {copying} with copies, {failures} failures")
sys.exit(failures != 0 or not copying)
