"""Docstrings as reStructuredText, which autodoc wants: they are plain text with code in backticks and arguments as `name: text`."""

import re

ARGUMENT = re.compile(r"((?:\*{0,2}[\w.]+)(?:, \*{0,2}[\w.]+)*): +(\S.*)")
# What lists below these lines become.
SECTIONS = {"Args:": "param", "Raises:": "raises"}


def _prose(line):
    """Everything but what is in backticks means itself."""
    parts = line.split("`")
    for at in range(0, len(parts), 2):
        parts[at] = re.sub(r"([*|\\]|(?<=\w)_(?!\w))", r"\\\1", parts[at])
    return "``".join(parts) if len(parts) % 2 else line.replace("`", "\\`")


def _indent(line):
    return len(line) - len(line.lstrip())


def convert(lines):
    """The lines of a docstring, its first indentation removed."""
    out = []
    inside = None  # the indentation of the argument that lines continue
    section, field = 0, "param"  # the indentation of a list, and what it is of
    literal = False
    bullet = 0  # the indentation of an item's text
    for line in lines:
        text, indent = line.strip(), _indent(line)
        if not text:
            if not literal:
                inside = None
            out.append("")
            continue
        if text in SECTIONS:
            section, field = 4, SECTIONS[text]
            continue
        if literal and indent >= 4:
            out.append(line)
            continue
        literal = False
        argument = ARGUMENT.fullmatch(text)
        if argument and indent == section and not (out and out[-1] and inside is None):
            inside = indent
            if out and out[-1] and not out[-1].startswith((":", "    ")):
                out.append("")
            for name in argument[1].split(", ")[:-1]:
                out.append(f":{field} {_prose(name)}:")
            out.append(f":{field} {_prose(argument[1].split(', ')[-1])}: {_prose(argument[2])}")
        elif inside is not None and indent > inside:
            out.append("    " + _prose(text))
        elif indent >= 4 and (not out or not out[-1]):
            out += [".. code-block:: python", "    :force:", "", line]
            literal = True
        else:
            if inside is not None or bullet and not text.startswith("- ") and indent <= bullet - 2:
                out.append("")
            elif text.startswith("- ") and not bullet and out and out[-1]:
                out.append("")
            inside = None
            bullet = indent + 2 if text.startswith("- ") else bullet if indent >= bullet else 0
            out.append(" " * bullet * (not text.startswith("- ")) + _prose(text))
    return out


def dedent(text):
    """The lines of a docstring whose closing quotes stand on a line of their own: these say how far it is indented, also where all
    of its other lines are code. None for other docstrings."""
    first, *rest = text.expandtabs().split("\n")
    if not rest or rest[-1].strip():
        return None
    margin = len(rest[-1])
    return [first.strip(), *(line[margin:].rstrip() for line in rest[:-1]), ""]


def process(app, what, name, obj, options, lines):
    text = getattr(obj, "__doc__", None)
    lines[:] = convert(isinstance(text, str) and dedent(text) or lines)
