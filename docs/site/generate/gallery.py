"""A page per attention: gallery.toml says which, everything else is read from specs, the library, a tool and measurements."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import textwrap
import tomllib
from dataclasses import dataclass
from pathlib import Path

from . import benchmarks
from .page import Page, code, table, write as write_page

TABLE = Path(__file__).parent.parent / "gallery.toml"


@dataclass(frozen=True)
class Facts:
    """What `polyattn-run --describe` says of an entry."""

    features: int
    state_bytes: int  # 0: there is no state of fixed size


def describe(tools: Path, spec: Path) -> dict[str, Facts]:
    """By entry."""
    done = subprocess.run([tools / "polyattn-run", spec, "--describe", "--json"], capture_output=True, text=True, check=True)
    entries = json.loads(done.stdout)["entries"]
    return {one["name"]: Facts(one.get("feature_dim") or 0, one.get("state_bytes") or 0) for one in entries}


def blocks(text: str) -> dict[str, str]:
    """The feature maps and attentions of a spec by name, with the comments before them."""
    found = {}
    # Brackets in comments are none.
    plain = re.sub(r"//.*", lambda comment: " " * len(comment[0]), text)
    for match in re.finditer(r"((?:^//.*\n)*)^polyattn\.\w+ @([\w.$-]+)", text, re.M):
        depth, at = 0, match.end()
        # The body is the first brace that is not inside of parentheses, where attributes of arguments are.
        parentheses = 0
        while True:
            one = plain[at]
            parentheses += (one == "(") - (one == ")")
            depth += (one == "{") - (one == "}")
            at += 1
            if one == "}" and depth == 0 and parentheses == 0:
                break
        found[match[2]] = text[match.start() : at]
    return found


def program(text: str, entry: str) -> str:
    """An attention and the feature maps that it applies."""
    parts = blocks(text)
    wanted, waiting = [], [entry]
    while waiting:
        name = waiting.pop()
        if name in parts and name not in wanted:
            wanted.append(name)
            waiting += re.findall(r"@([\w.$-]+)", re.sub(r"//.*", "", parts[name]))
    return "\n\n".join(parts[name] for name in parts if name in wanted)


def entries(text: str) -> list[str]:
    return re.findall(r"^polyattn\.attention @([\w.$-]+)", text, re.M)


def library_functions(source: Path) -> dict[str, str]:
    """The functions of polyattn.library, as they are written."""
    found = {}
    for path in sorted((source / "python/polyattn/library").glob("[a-z]*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                found[node.name] = ast.get_source_segment(text, node)
    return found


def attentions() -> list[dict]:
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))["attention"]


def entry_of(one: dict, text: str) -> str:
    """The entry of a spec that a page shows."""
    return one.get("entry") or entries(text)[0]


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def sizes(facts: Facts) -> list[str]:
    """Features and the state of a head, as cells of a table."""
    features = f"{facts.features:,}" if facts.features else "none"
    kib = facts.state_bytes / 1024
    return [features, f"{kib / 1024:,.1f} MiB" if kib >= 1024 else f"{kib:.1f} KiB" if kib else "none"]


def _page(one: dict, source: Path, tools: Path, site: Path, functions: dict[str, str]) -> tuple[Page, Facts]:
    file = source / "specs" / f"{one['spec']}.mlir"
    text = file.read_text(encoding="utf-8")
    facts_of = describe(tools, file)
    entry = entry_of(one, text)
    if entry not in facts_of or one["builder"] not in functions:
        raise SystemExit(
            f"gallery.toml: {one['name']}: there is no entry '{entry}' in {file.name} or no polyattn.library.{one['builder']}"
        )
    facts = facts_of[entry]
    layer = one.get("layer")
    use = [f"kernel = polyattn.compile(polyattn.library.{one['builder']}())"]
    if layer:
        use += [f"layer = polyattn.torch.nn.{layer}(512, heads=8)  # a torch.nn.Module: y = layer(x), x [B, T, 512]"]
    listed = [[f"`{name}`", *sizes(about)] for name, about in facts_of.items()]
    parts = [
        f"*{one['paper']}{' (' + str(one['year']) + ')' if 'year' in one else ''}*\n",
        f"{one['about']}\n",
        f"```{{math}}\n{one['equation']}\n```\n",
        table(
            ["features D", "state per head", "NumPy, JAX", "PyTorch"],
            [[*sizes(facts),
              f"[`polyattn.library.{one['builder']}`](#polyattn.library.{one['builder']})",
              f"[`polyattn.torch.nn.{layer}`](#polyattn.torch.nn.{layer})" if layer else "`polyattn.torch.load`"]],
        ),
        code("python", "\n".join(use)),
        _measured(one, source, site),
        f"## Spec\n\n`{entry}` in [specs/{file.name}](/specs/{file.name}):\n",
        code("mlir", program(text, entry)),
        "## Python builder\n\nThe same, for any sizes:\n",
        code("python", functions[one["builder"]]),
        f"## All entries of specs/{file.name}\n",
        table(["entry", "features D", "state per head"], listed),
    ]  # fmt: skip
    page = write_page(
        site, f"gallery/{_slug(one['name'])}", one["name"], one["about"], "\n".join(part for part in parts if part)
    )
    return page, facts


def _measured(one: dict, source: Path, site: Path) -> str:
    if "measured" not in one:
        return ""
    plots = benchmarks.plots(source)
    found = plots.against_length(plots.Peers(), one["measured"], site / "gallery" / f"{_slug(one['name'])}.svg")
    return (
        f"## Speed\n\n![{found}]({_slug(one['name'])}.svg)\n\nThe best baseline is {plots.BASELINES}. "
        "[Baselines](/docs/Peers.md) says how this was measured.\n"
    )


def write(source: Path, tools: Path, site: Path) -> list[Page]:
    listed = attentions()
    functions = library_functions(source)
    _check_complete(listed, source, functions)
    rows, pages = [], []
    for one in listed:
        page, facts = _page(one, source, tools, site, functions)
        pages.append(page)
        paper, layer = textwrap.shorten(one["paper"], 60, placeholder=" ..."), f"`{one['layer']}`" if "layer" in one else ""
        name = f"[{one['name']}](/{page.place}.md)"
        rows.append([str(one.get("year", "")), name, paper, layer, *sizes(facts)])
    overview = table(["year", "attention", "paper", "layer", "D", "state per head"], rows)
    intro = "Sizes are those of the entry that a page shows. `D` is the number of features, by which time and memory grow.\n\n"
    return [write_page(site, "gallery/overview", "All attentions", "year, paper, layer and size of every attention.",
                       intro + overview), *pages]  # fmt: skip


def _check_complete(listed: list[dict], source: Path, functions: dict[str, str]) -> None:
    """Every spec, every function of the library and every layer is on a page."""
    named = {one[key] for one in listed for key in ("spec", "builder", "layer") if key in one}
    named |= {name for one in listed for name in one.get("also", [])}
    layers = ast.parse((source / "python/polyattn/torch/nn.py").read_text(encoding="utf-8"))
    exported = next(ast.literal_eval(node.value) for node in layers.body if isinstance(node, ast.Assign))
    wanted = {path.stem for path in (source / "specs").glob("*.mlir")} | set(functions) | set(exported)
    missing = wanted - named - {"Attention", "StateCache", "States"}
    if missing:
        raise SystemExit(f"gallery.toml: expected a page for {', '.join(sorted(missing))}")
