"""Passes are defined in the .td files that a Passes.td includes, named by the dialect that they read, and say what they do to numbers.

    check_passes.py SOURCE
"""

import glob
import os
import re
import sys

source = sys.argv[1]
failures, names = [], []

for path in sorted(glob.glob(f"{source}/lib/**/*Passes.td", recursive=True)):
    text = open(path).read()
    for match in re.finditer(r'^def \w+ *: *Pass<"([\w-]+)"(.*?)^}', text, re.M | re.S):
        name, body = match.groups()
        names.append(name)
        place = f"{os.path.relpath(path, source)}:{text.count(chr(10), 0, match.start()) + 1}: {name}: "
        if not re.match("(polyattn|tile|warp)-", name):
            failures.append(place + "begins with none of polyattn-, tile-, warp-")
        if not re.search(r'let summary = "[^"]', body):
            failures.append(place + "has no summary")
        if not re.search(r"Numeric\s+contract:\s+\w", body):
            failures.append(place + "has no numeric contract")
        for option, description in re.findall(r'Option<"(\w+)"[^>]*?,\s*((?:"[^"]*"\s*)+)>', body):
            if len(re.findall(r'"([^"]+)"', description)) < 1:
                failures.append(place + f"option {option} has no description")

for path in sorted(glob.glob(f"{source}/lib/**/*.cpp", recursive=True)):
    for number, line in enumerate(open(path), 1):
        if "PassWrapper<" in line:
            failures.append(f"{os.path.relpath(path, source)}:{number}: a pass that is in no NAMEPasses.td")

print(f"{len(names)} passes")
if failures:
    sys.exit("\n".join(failures))
