"""What the generators share: a page, and text in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

LLVM = Path("/usr/lib/llvm-22")


@dataclass(frozen=True)
class Page:
    """A page of a section: where it is under the site's source folder, without .md, and one line about it."""

    place: str
    title: str
    about: str


def write(folder: Path, name: str, title: str, about: str, text: str) -> Page:
    """A page in site/."""
    path = folder / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"# {title}\n\n{text.strip()}\n", encoding="utf-8")
    return Page(f"site/{name}", title, about)


def code(language: str, text: str) -> str:
    return f"```{language}\n{text.strip()}\n```\n"


def table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def toctree(pages: list[Page]) -> str:
    listed = "\n".join(f"{page.title} </{page.place}>" for page in pages)
    return f"```{{toctree}}\n:hidden:\n:maxdepth: 1\n\n{listed}\n```\n"
