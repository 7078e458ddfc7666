"""The references of the C and C++ headers, a page per language, filled by Breathe from Doxygen's XML."""

from __future__ import annotations

from pathlib import Path

from .page import Page, write as write_page

C_HEADERS = {
    "polyattn.h": "compile specs in memory and run them",
    "tensor.h": "tensors, as all callers describe them",
    "parallel.h": "an application's own threads, and cancelling a call",
    "sizes.h": "sizes that have a name",
}
CXX_HEADERS = {
    "JIT/Compiler.h": "from a spec to a kernel that can be called",
    "JIT/CompiledKernel.h": "a kernel in this process",
    "JIT/KernelCache.h": "compiled kernels on disk",
    "JIT/States.h": "states of segments that follow each other",
    "Spec/ParseSpec.h": "a spec's text, which may come from anybody",
}


def _text(intro: str, folder: str, headers: dict[str, str]) -> str:
    parts = [intro]
    for header, about in headers.items():
        title = about[0].upper() + about[1:]
        parts.append(f"## {title}\n\n`#include <{folder}/{header}>`\n\n```{{doxygenfile}} {Path(header).name}\n```\n")
    return "\n".join(parts)


def write(site: Path) -> list[Page]:
    return [
        write_page(
            site, "c-api", "C API", "every function, struct and constant of `polyattn-c/`.",
            _text("The headers are C99 and work from C++. [Calling kernels](/docs/Calling.md) explains them with examples.",
                  "polyattn-c", C_HEADERS),
        ),
        write_page(
            site, "cxx-api", "C++ API", "the headers for programs that link the compiler as C++.",
            _text("For programs that have LLVM and MLIR anyway. All others call the [C API](c-api.md).", "polyattn", CXX_HEADERS),
        ),
    ]  # fmt: skip
