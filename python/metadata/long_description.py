"""The long description of the package: README.md, as it reads outside of the repository. pyproject.toml names it.

A relative link leads nowhere on a package index. With a URL of the name Repository in [project.urls] links and images become
absolute, of the tag of the version. Without one the words of links stay, and images go.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Mapping

LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\[\]]*)\]\((?!https?:|#)(?P<path>[^()\s]+)\)")


def absolute(text: str, repository: str | None, version: str) -> str:
    """`text` without relative links; blocks of code stay as they are."""

    def one(match: re.Match[str]) -> str:
        image, words, path = match["image"], match["text"], match["path"]
        if not repository:
            return "" if image else words
        return f"{image}[{words}]({repository.rstrip('/')}/{'raw' if image else 'blob'}/v{version}/{path})"

    parts = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    parts[::2] = [LINK.sub(one, part) for part in parts[::2]]
    return re.sub(r"\n{3,}", "\n\n", "".join(parts))


def dynamic_metadata(field: str, settings: Mapping[str, Any], project: Mapping[str, Any]) -> dict[str, str]:
    """Called by scikit-build-core."""
    if field != "readme":
        raise RuntimeError(f"expected the field readme, got {field}")
    text = Path("README.md").read_text(encoding="utf-8")
    repository = project["urls"].get("Repository") if "urls" in project else None
    return {"content-type": "text/markdown", "text": absolute(text, repository, project["version"])}
