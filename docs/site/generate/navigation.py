"""The site's sections, from docs/README.md, which lists the pages for readers of the repository, and its front page."""

from __future__ import annotations

import re
from pathlib import Path

from .page import Page, toctree

SECTION = re.compile(r"^## (.+)\n((?:(?!^## ).*\n)*)", re.M)
ITEM = re.compile(r"^- \[([^\]]+)\]\(([^)#]+)\.md\): ((?:.|\n(?!\n|- |#))+)", re.M)


def sections(text: str) -> dict[str, tuple[str, list[Page]]]:
    """For each section its first paragraph and the pages that it lists."""
    found = {}
    for title, body in SECTION.findall(text):
        pages = [Page(_place(path), name, " ".join(about.split())) for name, path, about in ITEM.findall(body)]
        found[title] = (body.split("\n- ")[0].strip(), pages)
    return found


def _place(path: str) -> str:
    """A link of docs/README.md as a place in the site's source folder."""
    return path[3:] if path.startswith("../") else f"docs/{path}"


def write(source: Path, out: Path, generated: dict[str, list[Page]]) -> None:
    listed = sections((source / "docs" / "README.md").read_text(encoding="utf-8"))
    unknown = set(generated) - set(listed)
    if unknown:
        raise SystemExit(f"docs/README.md: expected a section '{unknown.pop()}'")
    slugs = {}
    for title, (about, pages) in listed.items():
        pages = pages + generated.get(title, []) if title == "Look up" else generated.get(title, []) + pages
        slugs[title] = slug = title.lower().replace(" ", "-")
        items = "".join(f"- [{page.title}](/{page.place}.md): {page.about}\n" for page in pages)
        text = f"# {title}\n\n{about}\n\n{items}\n{toctree(pages)}"
        (out / f"{slug}.md").write_text(text, encoding="utf-8")
    (out / "index.md").write_text(_front(source, listed, slugs), encoding="utf-8")


def _front(source: Path, listed: dict[str, tuple[str, list[Page]]], slugs: dict[str, str]) -> str:
    """The README's first screen, and the sections."""
    readme = (source / "README.md").read_text(encoding="utf-8")
    head, *parts = re.split(r"^(?=## )", readme, flags=re.M)
    cards = "".join(
        f":::{{grid-item-card}} {title}\n:link: {slugs[title]}\n:link-type: doc\n\n{about}\n:::\n\n"
        for title, (about, _) in listed.items()
    )
    grid = f"::::{{grid}} 1 2 2 3\n:gutter: 3\n\n{cards}::::\n"
    return f"{head.strip()}\n\n{parts[0].strip()}\n\n## Documentation\n\n{grid}\n{toctree([Page(slug, title, '') for title, slug in slugs.items()])}"
