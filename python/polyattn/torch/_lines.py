"""A spec's text, as the compiler prints it, read line by line: one op each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Line:
    """`results = op operands {attributes}`; `words` is the text of the operands."""

    op: str
    results: tuple[str, ...]
    operands: tuple[str, ...]
    attributes: dict[str, Any]
    words: str


@dataclass
class Body:
    """An attention, or a feature map, with its arguments' names."""

    arguments: tuple[str, ...]
    lines: list[Line] = field(default_factory=list)
    shared: frozenset[str] = frozenset()
    """The sequences whose heads several heads of the attention share."""


_HEAD = re.compile(r"\s*polyattn\.(attention|feature_map) @(\w+)\((.*?)\)(?: ->|\s*\{| attributes)")
_LINE = re.compile(r"\s*(?:(%.*?) = )?(\w+) ?(.*)")
_ATTRIBUTES = re.compile(r" ?\{([^{}]*)\}(?= :|$)")
_DEGREE = re.compile(r"(\d+) ")  # of a power, before its operand
_SHARED = re.compile(r"(%\w+): tensor<[^>]*, #polyattn\.shared_heads>")
_NAME = re.compile(r"%[\w#]+")


def _value(text: str) -> Any:
    text = re.sub(r" : [if]\d+$", "", text)
    if text.startswith("array<"):
        return [float(one) if "." in one else int(one) for one in text[text.index(":") + 1 : -1].split(",")]
    if text.startswith("#"):
        return text[text.index("<") + 1 : -1]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def attributes_of(text: str) -> dict[str, Any]:
    """`a = 1 : i64, b` as a dictionary, where b is True."""
    found: dict[str, Any] = {}
    for part in re.split(r", (?![^<]*>)", text):
        name, _, value = part.partition(" = ")
        if name:
            found[name] = _value(value) if value else True
    return found


def _results(text: str | None) -> tuple[str, ...]:
    """`%a, %b:2` are %a, %b#0 and %b#1."""
    found: list[str] = []
    for part in (text or "").split(", "):
        name, _, count = part.partition(":")
        found += [f"{name}#{i}" for i in range(int(count))] if count else [name]
    return tuple(found)


def _read_line(text: str) -> Line:
    match = _LINE.fullmatch(text)
    assert match, text
    results, op, rest = match.groups()
    attributes = _ATTRIBUTES.search(rest)
    words = rest[: attributes.start()] if attributes else rest.split(" : ")[0]
    found = attributes_of(attributes[1]) if attributes else {}
    if degree := _DEGREE.match(words):
        found["degree"] = int(degree[1])
    return Line(op, _results(results), tuple(_NAME.findall(words)), found, words)


def read(text: str) -> tuple[Body, dict[str, Body]]:
    """The attention of a module, and its feature maps by name."""
    maps: dict[str, Body] = {}
    attention = body = None
    for line in text.splitlines():
        head = _HEAD.match(line)
        if head:
            body = Body(tuple(_NAME.findall(head[3])), shared=frozenset(_SHARED.findall(head[3])))
            if head[1] == "attention":
                attention = body
            else:
                maps[head[2]] = body
        elif body is not None and line.strip() not in ("", "}", "module {"):
            body.lines.append(_read_line(line))
    assert attention is not None
    return attention, maps


def clauses_of(line: Line) -> dict[str, Sequence[str]]:
    """Of an attend: `query %a key %b local %c, %d` as lists by their words."""
    found = re.findall(r"(\w+) (%[\w#]+(?:, %[\w#]+)*)", line.words)
    return {word: names.split(", ") for word, names in found}
