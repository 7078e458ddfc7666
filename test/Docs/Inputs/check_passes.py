"""Passes are defined in the .td files that a Passes.td includes, named by the dialect that they read, and say what they do to numbers.
Their descriptions are prose at the bar of scripts/prose.

    check_passes.py SOURCE
"""

import glob
import os
import re
import sys
import textwrap
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

source = sys.argv[1]
failures, names, descriptions = [], [], []

for path in sorted(glob.glob(f"{source}/lib/**/*Passes.td", recursive=True)):
    text = open(path).read()
    for match in re.finditer(r'^def \w+ *: *Pass<"([\w-]+)"(.*?)^}', text, re.M | re.S):
        name, body = match.groups()
        names.append(name)
        descriptions += [textwrap.dedent(text.strip("\n")) for text in re.findall(r"let description = \[\{(.*?)\}\];", body, re.S)]
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

sys.dont_write_bytecode = True
prose = module_from_spec(spec_from_loader("prose", SourceFileLoader("prose", f"{source}/scripts/prose")))
prose.__loader__.exec_module(prose)
text = "\n\n".join(descriptions)
values = prose.measure(text)
if not prose.at_the_bar(values):
    failures += [*prose.problems_of("lib/**/*Passes.td", values, kept=None), *prose.examples("", text, values)]

print(f"{len(names)} passes")
if failures:
    sys.exit("\n".join(failures))
