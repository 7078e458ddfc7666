"""docs/Papers.md is true: its claims are numbered without a gap, each with a state, and what a row names exists.

    check_papers.py SOURCE BUILD

In a cell `FILE` is a file of the source tree; `@entry` an entry of the spec before it, which polyattn-run can describe; `test_name` a
test of the Python file before it; `library.name`, `nn.Name` and `nn.Name.method` are public. Other words in backticks are an op's or a
function's, which the file named in the same row mentions.
"""

import collections
import os
import re
import subprocess
import sys

source, build = sys.argv[1:]
STATES = {"covered", "partly", "not yet", "outside"}
#: Rows of the page, and how many claims of the papers they are.
CLAIMS = 74
problems = []


def read(*path):
    with open(os.path.join(source, *path), encoding="utf-8") as file:
        return file.read()


def public(*path):
    return set(re.findall(r'"(\w+)"', re.search(r"__all__ = \[(.*?)\]", read(*path), re.S)[1]))


LIBRARY = public("python", "polyattn", "library", "__init__.py")
LAYERS = public("python", "polyattn", "torch", "nn.py")
LAYER_FILES = [read("python/polyattn/torch/layers", name) for name in os.listdir(os.path.join(source, "python/polyattn/torch/layers"))
               if name.endswith(".py")]  # fmt: skip


def parses(spec, entry):
    command = [os.path.join(build, "bin", "polyattn-run"), os.path.join(source, spec), "--entry", entry, "--describe"]
    return subprocess.run(command, capture_output=True).returncode == 0


def is_layer(name, method=None):
    body = next((re.search(rf"^class {name}\(.*?(?=^\S|\Z)", text, re.S | re.M) for text in LAYER_FILES if f"class {name}(" in text), None)
    return name in LAYERS and body is not None and (method is None or f"def {method}(" in body[0])


def check(number, cell):
    """Every word in backticks of a cell; the number of files that it names."""
    words = re.findall(r"`([^`]+)`", cell)
    files = [word for word in words if "/" in word]
    spec = tests = None
    for word in words:
        if "/" in word:
            if not os.path.exists(os.path.join(source, word)):
                problems.append(f"{number}: there is no file {word}")
                continue
            spec, tests = (word if word.endswith(end) else None for end in (".mlir", ".py"))
            is_right = True
        elif word.startswith("@"):
            is_right = spec is not None and parses(spec, word[1:])
        elif word.startswith("test_"):
            is_right = tests is not None and re.search(rf"^def {word}\(", read(tests), re.M) is not None
        elif word.startswith("library."):
            is_right = word.removeprefix("library.") in LIBRARY
        elif word.startswith("nn."):
            is_right = is_layer(*word.split(".")[1:])
        else:
            found = [file for file in files if os.path.isfile(os.path.join(source, file))]
            is_right = any(re.search(rf"\b{re.escape(word)}\b", read(file)) for file in found)
        if not is_right:
            problems.append(f"{number}: there is no {word}" + (f" in {spec or tests}" if spec or tests else ""))
    return len(files) + sum(word.startswith(("library.", "nn.")) for word in words)


rows = re.findall(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \| (.+) \|$", read("docs", "Papers.md"), re.M)
if [int(number) for number, *_ in rows] != list(range(1, CLAIMS + 1)):
    problems.append(f"expected the claims 1 to {CLAIMS} in their order, got {', '.join(number for number, *_ in rows)}")
for number, _, state, answer in rows:
    if state not in STATES:
        problems.append(f"{number}: expected one of {', '.join(sorted(STATES))}, got '{state}'")
    if not check(number, answer):
        problems.append(f"{number}: names no file")

counts = collections.Counter(state for _, _, state, _ in rows)
print(", ".join(f"{counts[state]} {state}" for state in ("covered", "partly", "not yet", "outside")))
if problems:
    sys.exit("\n".join(problems))
