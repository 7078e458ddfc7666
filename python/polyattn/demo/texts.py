"""What the models read."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence

FEWEST = 20_000  # bytes, of which a model can learn something


class TextError(ValueError):
    """A file that cannot be read, or too little text. One line."""


def read_files(paths: Sequence[pathlib.Path]) -> bytes:
    """Files one after the other."""
    try:
        text = b"\n\n".join(path.read_bytes() for path in paths)
    except OSError as error:
        raise TextError(f"{error.filename}: {error.strerror}") from None
    if len(text) < FEWEST:
        raise TextError(f"FILE: expected {FEWEST:,} bytes or more to learn from, got {len(text):,}")
    return text


def installed_text() -> tuple[bytes, str]:
    """A text that every Python has, and its name: the reference of the language, or else the sources of this package."""
    try:
        from pydoc_data.topics import topics  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        folder = pathlib.Path(__file__).parents[1]
        return read_files(sorted(folder.rglob("*.py"))), "polyattn's own sources"
    return "\n\n".join(topics.values()).encode(), "Python's reference of its language"
