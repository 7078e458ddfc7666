"""Runs the commands of a Markdown page and looks for the quoted output.

    check_commands.py PAGE.md SOURCE BUILD FOLDER

In a block ```console, each line `$ command` is run in FOLDER, which has links to the source tree's
folders and to BUILD as `build`. The lines after it are quoted from its output: whitespace aside they
appear there, one after the other. A line `...` stands for any lines, `...` inside a line for
anything. A number behind `relative error` is rounding on one machine, and stands for any. A command
that fails must quote its error.

A comment before a block of any language says more: `<!-- file: NAME -->` writes the block to
FOLDER/NAME for later commands, `<!-- from: PATH -->` says that the lines are quoted from that file
of the source tree.
"""

import os
import re
import subprocess
import sys

page, source, build, folder = sys.argv[1:]
failures = []


def normal(line):
    return " ".join(line.split())


NUMBER = r"\d[\d.]*e-\d+"


def matches(quoted, line):
    parts = re.split(rf"(\.\.\.|(?<=relative error ){NUMBER})", normal(quoted))
    pattern = "".join(re.escape(part) if i % 2 == 0 else ".*" if part == "..." else NUMBER for i, part in enumerate(parts))
    return re.fullmatch(pattern, normal(line)) is not None


def find(quoted, lines, start):
    """The line after a run of consecutive lines that are the quoted ones, or None."""
    for first in range(start, len(lines) - len(quoted) + 1):
        if all(matches(q, lines[first + i]) for i, q in enumerate(quoted)):
            return first + len(quoted)
    return None


def check_quote(quoted, text, what):
    lines = [line for line in text.splitlines() if line.strip()]
    runs = [[]]
    for line in quoted:
        if line.strip() == "...":
            runs.append([])
        elif line.strip():
            runs[-1].append(line)
    position = 0
    for run in runs:
        position = find(run, lines, position)
        if position is None:
            expected = "\n  ".join(run)
            shown = "\n  ".join(lines[:400])
            failures.append(f"{what}: these lines are not in the output\n  {expected}\nbut\n  {shown}")
            return


def run_console(lines, number):
    commands = []  # (command, quoted lines)
    for line in lines:
        if line.startswith("$ "):
            commands.append((line[2:], []))
        elif commands and commands[-1][0].endswith("\\"):
            commands[-1] = (commands[-1][0] + "\n" + line, [])
        elif commands:
            commands[-1][1].append(line)
    for command, quoted in commands:
        done = subprocess.run(["bash", "-c", command], cwd=folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        output = done.stdout.decode(errors="replace")
        what = f"{os.path.basename(page)}:{number}: $ {command}"
        if done.returncode and not any("error" in line for line in quoted):
            failures.append(f"{what}: exit status {done.returncode}\n{output}")
        else:
            check_quote(quoted, output, what)
    return len(commands)


os.makedirs(folder)
for name in os.listdir(source):
    if not name.startswith((".", "build")):
        os.symlink(os.path.join(source, name), os.path.join(folder, name))
os.symlink(build, os.path.join(folder, "build"))

commands = files = 0
note = block = None
for number, line in enumerate(open(page), 1):
    line = line.rstrip("\n")
    if block is not None and line == "```":
        if language == "console":
            commands += run_console(block, start)
        if note and note[0] == "file":
            with open(os.path.join(folder, note[1]), "w") as file:
                file.write("\n".join(block) + "\n")
        elif note:
            files += 1
            text = open(os.path.join(source, note[1])).read()
            check_quote(block, text, f"{os.path.basename(page)}:{start}: from {note[1]}")
        note = block = None
    elif block is not None:
        block.append(line)
    elif line.startswith("```"):
        language, start, block = line[3:], number, []
    elif line.strip():
        found = re.fullmatch(r"<!-- (file|from): (\S+) -->", line)
        note = found.groups() if found else None

print(f"{commands} commands, {files} quoted files")
if failures:
    sys.exit("\n\n".join(failures))
