"""The folders of docs/Architecture.md include what its table of walls allows, and all are there.

    check_walls.py Architecture.md SOURCE
"""

import glob
import os
import re
import sys

page, source = sys.argv[1:]
rows = re.findall(r"^\| `([\w/.-]+)/` \|[^|]*\| (.*) \|$", open(page).read(), re.M)
allowed = {folder: set(re.findall(r"`([\w/.-]+)/`", cell)) for folder, cell in rows}
failures = []


def owner(path):
    """The folder of the table that a file, or a header's name, belongs to."""
    path = re.sub(r"^include/polyattn/|^polyattn/", "lib/", path)
    path = re.sub(r"^polyattn-c/", "include/polyattn-c/", path)
    while path and path not in allowed:
        path = os.path.dirname(path)
    return path


for top in ("dialects", "include", "lib", "runtime", "tools"):
    for extension in ("h", "cpp", "c"):
        for path in glob.glob(f"{source}/{top}/**/*.{extension}", recursive=True):
            name = os.path.relpath(path, source)
            folder = owner(name)
            if not folder:
                failures.append(f"{name}: its folder is not in the table")
                continue
            for header in re.findall(r'^#include "([^"]+)"', open(path).read(), re.M):
                target = owner(header)
                if header.endswith(".inc") or not re.match("(dialects|polyattn|polyattn-c|runtime)/", header):
                    continue
                if target != folder and target not in allowed[folder]:
                    failures.append(f"{name}: includes {header}, but {folder}/ may not include {target}/")

print(f"{len(allowed)} folders")
if failures:
    sys.exit("\n".join(failures))
