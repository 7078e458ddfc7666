"""The reference of the passes, as mlir-tblgen writes it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from .page import LLVM, Page, write as write_page

FILES = ("lib/Transforms/Passes.td", "lib/TileTransforms/Passes.td", "lib/Conversion/Passes.td")


def describe(source: Path, file: str) -> str:
    command = [LLVM / "bin/mlir-tblgen", "-gen-pass-doc", "-I", LLVM / "include", "-I", source, source / file]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    text = re.sub(r"^<!--.*?-->\n", "", text)
    # Headings one level up: a pass is a section of the page.
    return re.sub(r"^###", "##", text, flags=re.M)


def write(source: Path, site: Path) -> list[Page]:
    intro = (
        "A pass rewrites the program at one level. [Architecture](/docs/Architecture.md) shows an example at every level.\n\n"
    )
    return [write_page(site, "passes", "Passes", "every pass of the compiler, with the program before and after.",
                       intro + "\n".join(describe(source, file) for file in FILES))]  # fmt: skip
