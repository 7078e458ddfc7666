"""The reference of the Python package: a page per public module, filled by autodoc from docstrings."""

from __future__ import annotations

import ast
from pathlib import Path

from .page import Page, write as write_page

# Module, and one line about it.
MODULES = {
    "polyattn": "compile specs and call kernels on arrays",
    "polyattn.builder": "write specs as Python functions",
    "polyattn.library": "the attentions of the gallery at any sizes",
    "polyattn.torch": "attentions as operators of PyTorch",
    "polyattn.torch.nn": "attentions as layers",
    "polyattn.torch.ops": "functions with the signatures of other libraries",
    "polyattn.torch.hf": "layers in models of transformers",
    "polyattn.torch.distributed": "one sequence over several processes",
}


def public_modules(package: Path) -> dict[str, list[str]]:
    """Every module that says by `__all__` that it is public, and its names."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        if any(part.startswith("_") and part != "__init__" for part in parts):
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == "__all__":
                found[".".join(part for part in parts if part != "__init__")] = ast.literal_eval(node.value)
    return found


def instances(package: Path) -> set[str]:
    """Names of objects that are no functions and no classes, which autodoc leaves out of a module: `Sequence = Kind(...)`."""
    found = set()
    for path in package.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and isinstance(node.targets[0], ast.Name):
                found |= {node.targets[0].id} if node.targets[0].id[:1].isupper() else set()
    return found


def write(source: Path, site: Path) -> list[Page]:
    modules = public_modules(source / "python" / "polyattn")
    if set(modules) != set(MODULES):
        raise SystemExit(f"python_api.py: expected one line about each of {sorted(set(modules) ^ set(MODULES))}")
    objects = instances(source / "python" / "polyattn")
    pages = []
    for module, about in MODULES.items():
        listed = ", ".join(f"[`{name}`](#{module}.{name})" for name in modules[module] if f"{module}.{name}" not in modules)
        automatic = [f".. automodule:: {module}\n   :members:\n"]
        automatic += [f".. autodata:: {module}.{name}\n   :no-value:\n" for name in modules[module] if name in objects]
        text = f"{listed}\n\n```{{eval-rst}}\n" + "\n".join(automatic) + "```\n"
        pages.append(write_page(site, f"python/{module}", module, f"{about}.", text))
    return pages
