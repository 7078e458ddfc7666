"""Packed sequences: a spec with the clause `packed`, whose calls have N sequences one behind the other."""

from __future__ import annotations

import re

from . import _polyattn
from ._errors import CallError
from ._specs import Spec, python_lines_of, source_of

#: The argument that says where sequences begin and end, i32 [N + 1].
OFFSETS = "cu_seqlens"


def packed(spec: Spec, entry: str | None) -> str:
    """The text of the spec with the clause. Lines of the compiler's own text are what its diagnostics are about."""
    with python_lines_of(spec):
        source = source_of(spec, entry)
        name = _polyattn.Reference(source).entry
        text = _polyattn.print_ir(source, "spec")
    # The header is one line there, and no brackets are inside those of arguments and results.
    header = re.compile(rf"(polyattn\.attention @{re.escape(name)}\([^()]*)(\) -> \([^()]*\))((?: \w+ %\w+)*)")
    found = header.search(text)
    if found is None or re.search(rf"%{OFFSETS}\b", found[1]):
        raise CallError(f"{OFFSETS}: expected an attention without an argument of that name, got {name}")
    return header.sub(rf"\1, %{OFFSETS}: tensor<?xi32>\2\3 packed %{OFFSETS}", text, count=1)
