"""The ops that a spec is written with, each on less than a screen: formula, example, constraints, gradient."""

from __future__ import annotations

import json
import re
import subprocess
import textwrap
from dataclasses import dataclass
from pathlib import Path

from .page import LLVM, Page, code, table, write as write_page

DIALECT = Path("dialects/PolyAttn")
# The files that a reader wants first; the others follow by their names.
FIRST = ("AttentionOps", "AttendOp", "ProductOps", "ElementwiseOps", "NormOps", "WeightOps", "StructureOps", "PositionOps")
# Lines of text, or of rules, that are shown at once.
SCREEN = 12


@dataclass(frozen=True)
class Op:
    name: str
    family: str
    summary: str
    description: str
    gradient: str


def records(source: Path) -> dict:
    command = [
        LLVM / "bin/llvm-tblgen",
        "--dump-json",
        "-I",
        LLVM / "include",
        "-I",
        source,
        source / DIALECT / "PolyAttnOps.td",
    ]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def _rule_of_function(record: dict) -> str:
    """What an op's definition says of its gradient, in the words of GradientBuilder.h."""
    found = re.search(r"g\.addTo\(x, (.*)\);\n", record.get("function") or "", re.S)
    return f"dx = {found[1]}" if found else ""


def _rules_of_sources(source: Path) -> dict[str, str]:
    """The bodies of buildGradient, by class."""
    found = {}
    for path in sorted((source / DIALECT).glob("*.cpp")):
        text = path.read_text(encoding="utf-8")
        for name, body in re.findall(r"^void (\w+)::buildGradient\([^)]*\) \{(.*?)(?:^|(?<= ))\}$", text, re.M | re.S):
            found[name] = textwrap.dedent(body.strip("\n"))
    return found


def ops_of(source: Path) -> list[Op]:
    found = []
    rules = _rules_of_sources(source)
    everything = records(source)
    for name in everything["!instanceof"]["PolyAttn_Op"]:
        record = everything[name]
        found.append(Op(
            record["opName"], record["!locs"][0].split(":")[0].split("/")[-1].removesuffix(".td"), record["summary"],
            textwrap.dedent(record["description"] or "").strip(),
            _rule_of_function(record) or rules.get(name.removeprefix("PolyAttn_"), ""),
        ))  # fmt: skip
    return found


def _blocks(text: str) -> list[str]:
    """Paragraphs, lists and fenced code."""
    return [block.strip("\n") for block in re.findall(r"^```[\s\S]*?^```$|(?:^(?!```).*\S.*\n?)+", text, re.M)]


def _dropdown(title: str, blocks: list[str]) -> list[str]:
    return [f"::::{{dropdown}} {title}\n:color: light\n", *blocks, "::::"] if blocks else []


def _section(op: Op) -> str:
    """Formula, example, rules and gradient, on less than a screen: the rest folds."""
    text = re.sub(r"^(C\d+): ", r"- **\1** ", op.description, flags=re.M)
    text = re.sub(r"^(?!- )(.+)\n(?=- \*\*C1\*\*)", r"\1\n\n", text, flags=re.M)
    # Lines that are set apart keep their columns.
    text = re.sub(r"(?:(?<=\n\n)|\A)((?:  .*(?:\n|\Z))+)", lambda lines: code("text", textwrap.dedent(lines[1])), text)
    text = re.sub(r"^Example: `([^`]+)`", lambda example: code("mlir", example[1]), text, flags=re.M)
    blocks = _blocks(text)
    rules = [block for block in blocks if block.startswith("- **C")]
    examples = [block for block in blocks if block.startswith("```mlir")]
    prose = [block for block in blocks if block not in rules + examples]
    lines, shown = 0, 0
    while shown < len(prose) and (shown == 0 or lines + prose[shown].count("\n") < SCREEN):
        lines += prose[shown].count("\n") + 1
        shown += 1
    if shown > 1 and shown < len(prose) and prose[shown - 1].endswith(":"):
        shown -= 1
    count = "\n".join(rules).count("- **C")
    folds = "\n".join(rules).count("\n") >= SCREEN
    parts = [f"### {op.name}", f"**{op.summary}**", *prose[:shown], *([] if folds else rules), *examples]
    parts += _dropdown(f"Rules C1 to C{count}", rules if folds else [])
    parts += _dropdown("Details", prose[shown:])
    parts += _dropdown("Gradient", [code("cpp", op.gradient)] if op.gradient else [])
    return "\n\n".join(parts)


def families(source: Path, ops: list[Op]) -> dict[str, str]:
    """The files of families of ops, and what their first lines say of them."""
    names = sorted({op.family for op in ops}, key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name))
    heads = {name: (source / DIALECT / f"{name}.td").read_text(encoding="utf-8").split("\n")[0] for name in names}
    titles = {name: re.search(r"\.td - (.*?) *-*===//", head)[1] for name, head in heads.items()}
    return {name: title[0].upper() + title[1:] for name, title in titles.items()}


def write(source: Path, site: Path) -> list[Page]:
    ops = ops_of(source)
    parts = [
        "Every op of the `polyattn` dialect in short. Inside of feature maps and attentions you may leave out the prefix\n"
        "`polyattn.`. *Gradient* shows the rule of a feature op as the compiler has it: `x` and `y` are the op's argument and\n"
        "result, and `dy` is the gradient in `y`. [The dialect of specs](/docs/PolyAttnDialect.md) has the attributes and types of each op.\n"
    ]
    for family, title in families(source, ops).items():
        listed = sorted((op for op in ops if op.family == family), key=lambda op: op.name)
        rows = [[f"[`{op.name}`](#{op.name.replace('.', '')})", op.summary] for op in listed]
        parts += [f"## {title}\n", table(["op", "meaning"], rows), *map(_section, listed)]
    return [
        write_page(site, "ops", "Ops", "formula, example, constraints and gradient of every op, in short.", "\n".join(parts))
    ]
