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


def write(tools: Path, site: Path) -> list[Page]:
    parts = ["Each command prints this text with `--help`. After `make build` they are in `build/bin`.\n"]
    for name, about in TOOLS.items():
        text = help_of(tools / name)
        parts.append(f"## {name}\n\n{about}\n")
        if name == "polyattn-opt":
            parts.append("[Passes](passes.md) describes each of these. All options of `mlir-opt` work, too.\n")
        parts.append(code("text", wrapped(text)))
    return [write_page(site, "commands", "Commands", "every option of the command-line tools.", "\n".join(parts))]
