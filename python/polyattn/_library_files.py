"""The specs of the repository, which are in the package."""

from __future__ import annotations

import difflib
import pathlib

from ._errors import CallError

_PACKAGE = pathlib.Path(__file__).resolve().parent
#: In a wheel, and in a checkout.
_FOLDERS = (_PACKAGE / "specs", _PACKAGE.parents[1] / "specs")


def spec_path(name: str) -> pathlib.Path:
    """The file of a spec of the repository, for `polyattn.compile` and for the tools.

        kernel = polyattn.compile(polyattn.spec_path("llops"), "llops_p4", sizes={"d": 64, "m": 1024})

    name: a file of `specs/` without its ending: "linear", "llops", "based", ...
    """
    files = {path.stem: path for folder in _FOLDERS for path in sorted(folder.glob("*.mlir"))}
    if not isinstance(name, str) or name not in files:
        near = difflib.get_close_matches(str(name), files, n=1)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        raise CallError(f"name: expected one of {', '.join(files)}, got {name!r}{meant}")
    return files[name]
