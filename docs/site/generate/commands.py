"""The reference of the commands, from what they say upon --help."""

from __future__ import annotations

import re
import subprocess
import textwrap
from pathlib import Path

from .page import Page, code, write as write_page

TOOLS = {
    "polyattn-run": "Run an entry of a spec on files or random numbers, check it and measure it.",
    "polyattn-compile": "Write a shared library, an object, assembly or GPU kernels.",
    "polyattn-opt": "Run single passes or whole pipelines on specs, tile kernels and GPU kernels.",
    "polyattn-lsp-server": "Diagnostics, types and definitions in an editor.",
}
OWN = re.compile(r"^( *)--(polyattn|tile|warp)-")


def help_of(program: Path) -> str:
    done = subprocess.run([program, "--help"], capture_output=True, text=True, check=True)
    return done.stdout


def wrapped(text: str) -> str:
    """Lines of at most 100 columns: what an option means goes on below where it began."""
    lines = []
    for line in text.splitlines():
        about = re.match(r" *\S.*? {2,}(?:- )?|.*? - ", line)
        column = about.end() if about else 0
        lines += [line[:column] + one if at == 0 else " " * column + one
                  for at, one in enumerate(textwrap.wrap(line[column:], max(100 - column, 40)) or [""])]  # fmt: skip
    return "\n".join(lines)


def own_options(text: str) -> str:
    """Of LLVM's hundreds of options those of this project, each with the options that are indented below it."""
    kept = []
    indent = None
    for line in text.splitlines():
        own = OWN.match(line)
        if own and (indent is None or len(own[1]) <= indent):
            indent = len(own[1])
        elif indent is not None and len(line) - len(line.lstrip()) <= indent:
            indent = None
        if indent is not None:
            kept.append(line[4:] if line.startswith("    ") else line)
    return "\n".join(re.sub(r" {3,}- +", "  ", line) for line in kept)


def write(tools: Path, site: Path) -> list[Page]:
    parts = ["Each command prints this text with `--help`. After `make build` they are in `build/bin`.\n"]
    for name, about in TOOLS.items():
        text = help_of(tools / name)
        parts.append(f"## {name}\n\n{about}\n")
        if name == "polyattn-opt":
            parts.append("[Passes](passes.md) describes each of these. All options of `mlir-opt` work, too.\n")
            parts.append(code("text", wrapped(own_options(text))))
        elif name == "polyattn-lsp-server":
            parts.append("An editor starts it without arguments: see [Specs in an editor](/docs/Editors.md).\n")
        else:
            parts.append(code("text", wrapped(text)))
    return [write_page(site, "commands", "Commands", "every option of the command-line tools.", "\n".join(parts))]
