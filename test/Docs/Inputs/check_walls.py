"""The folders of docs/Architecture.md include what its table of walls allows and nothing else, all are
there, and no two include each other, not even by way of others.

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
included = {folder: set() for folder in allowed}


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
                if target == folder:
                    continue
                included[folder].add(target)
                if target not in allowed[folder]:
                    failures.append(f"{name}: includes {header}, but {folder}/ may not include {target}/")



def cycle(folder, path=()):
    """The first way from a folder back to itself, or nothing."""
    if folder in path:
        return path[path.index(folder):] + (folder,)
    ways = (cycle(next, path + (folder,)) for next in sorted(included.get(folder, ())))
    return next((way for way in ways if way), None)


for folder in allowed:
    for unused in sorted(allowed[folder] - included[folder]):
        failures.append(f"{page}: {folder}/ may include {unused}/, but does not")
for way in filter(None, map(cycle, allowed)):
    failures.append("folders include each other: " + " -> ".join(way))
    break

print(f"{len(allowed)} folders")
if failures:
    sys.exit("\n".join(failures))
