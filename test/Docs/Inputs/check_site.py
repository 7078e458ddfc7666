"""The generators of the documentation site, one by one; the site itself is `make docs`.

check_site.py SOURCE TOOLS SCRATCH CHECK...
"""

import importlib.util
import re
import shutil
import sys
from collections import Counter
from importlib.machinery import SourceFileLoader
from pathlib import Path

SOURCE, TOOLS, SCRATCH = (Path(argument).resolve() for argument in sys.argv[1:4])
SITE = SOURCE / "docs" / "site"
sys.path.insert(0, str(SITE))
sys.dont_write_bytecode = True

import docstrings  # noqa: E402
from generate import c_api, commands, gallery, navigation, ops, passes, python_api  # noqa: E402


def refused(function, *arguments):
    """What a generator says as it ends."""
    try:
        function(*arguments)
    except SystemExit as end:
        return str(end)
    sys.exit(f"{function.__module__}.{function.__name__}: expected an error")


def expect(found, wanted):
    if found != wanted:
        sys.exit(f"expected {wanted!r}, got {found!r}")


def pages_of_every_attention():
    """Each spec, function of the library and layer has a page, and a new one is asked for."""
    listed, functions = gallery.attentions(), gallery.library_functions(SOURCE)
    gallery._check_complete(listed, SOURCE, functions)
    for one in listed:
        text = (SOURCE / "specs" / f"{one['spec']}.mlir").read_text()
        entry = gallery.entry_of(one, text)
        program = gallery.program(text, entry)
        expect(re.findall(r"^polyattn\.attention @([\w.$-]+)", program, re.M), [entry])
        applied = set(re.findall(r"apply @([\w.$-]+)", program))
        expect(applied - set(re.findall(r"^polyattn\.feature_map @([\w.$-]+)", program, re.M)), set())
        facts = gallery.describe(TOOLS, SOURCE / "specs" / f"{one['spec']}.mlir")
        expect(list(facts), gallery.entries(text))
        expect(facts[entry].features > 0, "convolve(" not in program)
    short = (
        "// LLoPS (\npolyattn.attention @a<d = 8>(q, k, v: seq[d]) {\n  // a { here\n  map f(x) = relu(x)\n  return f(q)\n}\n"
    )
    expect(gallery.program(short + short.replace("@a", "@b"), "a") + "\n", short)
    copy = SCRATCH / "source"
    for folder in ("specs", "python/polyattn/library", "python/polyattn/torch"):
        shutil.copytree(SOURCE / folder, copy / folder)
    (copy / "specs" / "newest.mlir").write_text("")
    expect(refused(gallery._check_complete, listed, copy, functions), "gallery.toml: expected a page for newest")
    expect(
        refused(gallery._check_complete, listed, SOURCE, {**functions, "newest": ""}),
        "gallery.toml: expected a page for newest",
    )
    expect(
        refused(gallery._check_complete, listed[1:], SOURCE, functions),
        "gallery.toml: expected a page for Linear, linear, relu",
    )


def every_public_name():
    """Pages ask for each name of each public module: Sphinx warns of what it cannot document."""
    modules = python_api.public_modules(SOURCE / "python" / "polyattn")
    pages = {page.title: SCRATCH / "python" / f"{page.title}.md" for page in python_api.write(SOURCE, SCRATCH)}
    expect(set(pages), set(modules))
    for module, names in modules.items():
        text = pages[module].read_text()
        missing = [name for name in names if f"{module}.{name}" not in modules and f"(#{module}.{name})" not in text]
        expect(missing, [])
    builder = pages["polyattn.builder"].read_text()
    expect([name for name in ("Sequence", "Decay") if f".. autodata:: polyattn.builder.{name}\n" not in builder], [])


def every_op():
    """The ops of the reference that TableGen writes."""
    names = re.findall(r"^### `polyattn\.(\w+)`", (SOURCE / "docs" / "PolyAttnDialect.md").read_text(), re.M)
    expect(sorted(op.name for op in ops.ops_of(SOURCE)), sorted(names))
    found = {op.name: op for op in ops.ops_of(SOURCE)}
    expect(found["exp"].gradient, "dx = g.mul({dy, y})")
    expect(found["relu"].gradient.count("addTo"), 1)
    (page,) = ops.write(SOURCE, SCRATCH)
    text = (SCRATCH / "ops.md").read_text()
    expect([name for name in names if f"\n### {name}\n" not in text], [])
    section = text.split("\n### layer_norm\n")[1].split("\n### ")[0]
    expect([part for part in ("sqrt(var + eps)", "- **C1** ", "- **C2** ", "```mlir\n%y = polyattn.layer_norm", "Gradient")
            if part not in section], [])  # fmt: skip
    # Long ones fold, and lose nothing.
    section = text.split("\n### attend\n")[1].split("\n### ")[0]
    shown, *folded = section.split("::::{dropdown} ")
    expect(shown.count("\n") < 60, True)
    expect([part.split("\n")[0].split(" to ")[0] for part in folded], ["Rules C1", "Details"])
    words = lambda text: Counter(re.findall(r"[A-Za-z_]{3,}", text))
    expect(words(found["attend"].description) - words(section), Counter({"Example": 1}))


def commands_and_passes():
    """Options of this project only, and every pass."""
    kept = commands.help_of(TOOLS / "polyattn-opt")
    registered = re.findall(r"^def \w+ : Pass<\"([\w-]+)\"|^ *: Pass<\"([\w-]+)\"", _pass_definitions(), re.M)
    wanted = sorted(one or other for one, other in registered)
    expect(len(wanted) > 20, True)
    expect([name for name in wanted if not re.search(f"--{name}( |$)", kept, re.M)], [])
    expect([line for line in kept.splitlines() if re.match(r" *--(arm|amdgpu|x86)-", line)], [])
    passes.write(SOURCE, SCRATCH)
    text = (SCRATCH / "passes.md").read_text()
    expect([name for name in wanted if f"## `-{name}`" not in text], [])
    long = "  --entry=NAME      " + "word " * 40
    expect([len(line) <= 100 and line.startswith(" " * 20 if at else "  --entry") for at, line in
            enumerate(commands.wrapped(long).splitlines())], [True] * 3)  # fmt: skip


def _pass_definitions():
    return "\n".join(
        path.read_text() for folder in ("Transforms", "Conversion") for path in (SOURCE / "lib" / folder).glob("*.td")
    )


def headers():
    """Every C header has a part, and a plain comment of one is documentation for Doxygen."""
    expect(set(c_api.C_HEADERS), {path.name for path in (SOURCE / "include" / "polyattn-c").glob("*.h")})
    expect([name for name in c_api.CXX_HEADERS if not (SOURCE / "include" / "polyattn" / name).exists()], [])
    loader = SourceFileLoader("doxygen_comments", str(SITE / "doxygen-comments"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    header = "/*=== a.h ===*/\n/* About\n * it. */\n#ifndef A\n\n/* A number. */\nint a; /* its field */\n#endif /* A */\n"
    expect(
        module.documented(header),
        "/*=== a.h ===*/\n/** @file\n About\n * it. */\n#ifndef A\n\n/** A number. */\nint a; /**< its field */\n#endif /* A */\n",
    )


def docstrings_of_the_package():
    """Arguments become fields, code stays code, and nothing else is markup."""
    lines = [
        "Takes |x| and *args.",
        "",
        "dtype: what is `stored`;",
        "    f32 if None.",
        "first, last: rows.",
        "",
        "    code = here",
    ]
    expect(docstrings.convert(lines), ["Takes \\|x\\| and \\*args.", "", ":param dtype: what is ``stored``;", "    f32 if None.",
                                       ":param first:", ":param last: rows.", "", ".. code-block:: python", "    :force:", "", "    code = here"])  # fmt: skip
    expect(docstrings.dedent("About.\n\n        code = here\n    "), ["About.", "", "    code = here", ""])
    expect(
        docstrings.convert(["Either:", "- one", "  and more", "or not."]), ["Either:", "", "- one", "  and more", "", "or not."]
    )


def sections():
    """docs/README.md lists every page once, in the sections that generated pages go to."""
    listed = navigation.sections((SOURCE / "docs" / "README.md").read_text())
    expect(
        [name for name in ("Learn", "Do", "Look up", "Gallery", "Understand", "Performance", "Project") if name not in listed],
        [],
    )
    places = [page.place for _, pages in listed.values() for page in pages]
    expect(sorted(place for place in set(places) if places.count(place) > 1), [])
    pages = {f"docs/{path.relative_to(SOURCE / 'docs').with_suffix('')}" for path in (SOURCE / "docs").rglob("*.md")} - {
        "docs/README"
    }
    expect(sorted(pages - set(places)), [])


for check in sys.argv[4:]:
    globals()[check]()
    print(f"{check}: as expected")
