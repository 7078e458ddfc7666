"""The package as users get it: types, documents, and a wheel that needs nothing."""

import ast
import importlib
import importlib.util
import inspect
import os
import pathlib
import pkgutil
import re
import shutil
import subprocess
import sys
import zipfile

import pytest
from conftest import ROOT

import polyattn


# The package that these tests have imported, for other processes.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(pathlib.Path(polyattn.__file__).parents[1])}


def run(*arguments, **options):
    return subprocess.run(
        list(map(str, arguments)), capture_output=True, text=True, timeout=600, **options
    )


def test_types():
    """mypy is content with the package."""
    checked = run(sys.executable, "-m", "mypy", "-p", "polyattn", "--config-file", ROOT / "pyproject.toml")
    assert checked.returncode == 0, checked.stdout


def test_types_of_a_program_that_uses_the_package(tmp_path):
    """mypy --strict, without settings of ours: annotations of the builder, its operators, options by their words."""
    (tmp_path / "mine.py").write_text('''
from typing import Annotated
import numpy as np
import polyattn
from polyattn.builder import (
    Decay, HeadWeight, Matrix, Sequence, State, Tensor, Vector, Weight, attend, by_sum, concat, cos, none, relu, rope,
)

D = 16

@polyattn.feature_map
def gated(x: Vector, a: Matrix, b: Matrix) -> Vector:
    y = relu(x @ a) * relu(x @ b)
    return concat(1 - y, 1 / (y + 1.0), abs(y), y[0], y[2:4], y[[1, 0]], np.float32(2) * y, -y / y ** 2)

@polyattn.attention
def mine(
    q: Annotated[Vector, Sequence[D]], k: Annotated[Vector, Sequence[D]], v: Annotated[Vector, Sequence[np.int64(8)]],
    a: Annotated[Matrix, HeadWeight[D, 32]], b: Annotated[Matrix, HeadWeight[D, 32]], g: Annotated[Tensor, Decay],
    s: Annotated[Tensor, State[76, 8]],
) -> tuple[Vector, ...]:
    o, final = attend(gated(q, a, b), gated(k, a, b), v, normalizer=none(), decay=g, gate_heads="kv", initial=s, final_state=True)
    return o, final

@polyattn.attention(name="turned", dtype="bf16", results=("y",))
def other(q: Annotated[Vector, Sequence[D]], f: Annotated[Matrix, Weight[D // 2]]) -> Vector:
    x = rope(q, f, layout="half")
    return attend(cos(x) * cos(x), cos(x) * cos(x) + 1, q, mask="causal", normalizer=by_sum(1e-6), signed_scores=True)

def text(spec: polyattn.Spec) -> str:
    return spec.text

kernel: polyattn.Kernel = polyattn.compile(polyattn.library.linear(d=64), dtype=np.float32)
print(len(text(mine)) > 0, other.name, kernel.signature.arguments[0].shape)
''')
    checked = run(sys.executable, "-m", "mypy", "--strict", "--no-incremental", "mine.py", cwd=tmp_path, env=ENVIRONMENT)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    done = run(sys.executable, "mine.py", cwd=tmp_path, env=ENVIRONMENT)
    assert done.stdout == "True turned ('B', 'T', 'H', 64)\n", done.stderr
    (tmp_path / "wrong.py").write_text('''
from polyattn.builder import Vector, rope

def turned(x: Vector) -> Vector:
    return rope(x, x, layout="halves")
''')
    checked = run(sys.executable, "-m", "mypy", "--strict", "--no-incremental", "wrong.py", cwd=tmp_path, env=ENVIRONMENT)
    assert "wrong.py:5" in checked.stdout and "Literal['half', 'interleaved', 'deinterleave']" in checked.stdout, checked.stdout


def _undocumented(module):
    """Public names of a module without a docstring, and methods of its classes without one of their own."""
    there = [name for name in dir(module) if not name.startswith("_") and getattr(module, name) is not None]
    own = [name for name in there if getattr(getattr(module, name), "__module__", None) == module.__name__]
    for name in getattr(module, "__all__", own):
        one, where = getattr(module, name), f"{module.__name__}.{name}"
        is_own = inspect.isroutine(one) or inspect.isclass(one) or inspect.ismodule(one)
        words = inspect.getdoc(one) if is_own else getattr(one, "__doc__", None)
        if not words or not is_own and words == type(one).__doc__ or words.startswith(f"{name}("):  # what dataclasses write
            yield where
        for part, value in vars(one).items() if inspect.isclass(one) else ():
            function = getattr(value, "__func__", value)
            is_part = inspect.isfunction(function) or isinstance(value, property)
            if not part.startswith("_") and is_part and not function.__doc__:
                yield f"{where}.{part}"


def test_public_names_have_docstrings():
    """In every module without an underscore; those of PyTorch and of transformers where these are installed."""
    found = [one.name for one in pkgutil.walk_packages(polyattn.__path__, "polyattn.", onerror=lambda _: None)]
    missing, imported = [], 0
    for name in ["polyattn", *(name for name in found if "._" not in name)]:
        try:
            module = importlib.import_module(name)
        except ImportError as error:
            assert error.name and not error.name.startswith("polyattn"), error
            continue
        imported += 1
        missing += [] if module.__doc__ else [name]
        missing += _undocumented(module)
    assert not missing and imported >= 5


def test_stubs():
    """The stubs have what the native module has, with its arguments."""
    stubs = ast.parse((ROOT / "python/polyattn/_polyattn.pyi").read_text())
    native = polyattn._polyattn

    def compare(body, owner, what):
        declared = {}
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                declared[node.name] = node
            elif isinstance(node, ast.AnnAssign):
                declared[node.target.id] = node
        inherited = set() if owner is native else set(dir(owner.__base__))
        found = {x for x in dir(owner) if x not in inherited and not x.startswith("__")}
        assert found == {x for x in declared if not x.startswith("__")}, what
        for name, node in declared.items():
            if isinstance(node, ast.ClassDef):
                compare(node.body, getattr(owner, name), name)
            elif isinstance(node, ast.FunctionDef) and not node.decorator_list:
                text = getattr(owner, name).__doc__.split("(", 1)[1]
                for argument in node.args.args + node.args.kwonlyargs:
                    assert argument.arg == "self" or f"{argument.arg}:" in text, (name, text)

    compare(stubs.body, native, "the module")


def blocks(page, language="python"):
    """Python of a page: blocks follow one another, as a reader would type them."""
    found = re.finditer(rf"^```(?:{language})\n(.*?)^```$", (ROOT / page).read_text(), re.S | re.M)
    return "\n".join(one[1] for one in found)


@pytest.mark.parametrize(
    "page, language",
    [
        ("README.md", "python torch"),
        ("docs/Python.md", "python"),
        ("docs/PyTorch.md", "python"),
        # Programs with PyTorch go on from those without.
        ("docs/Tutorial.md", "python(?: torch)?" if importlib.util.find_spec("torch") else "python"),
        ("docs/Train.md", "python"),
        ("docs/Installation.md", "python"),
        # Pages without Python are in test/Docs.
        *(
            (f"docs/how-to/{path.name}", "python")
            for path in sorted((ROOT / "docs/how-to").glob("*.md"))
            if "```python\n" in path.read_text()
        ),
    ],
)
def test_documents(page, language, tmp_path):
    program = blocks(page, language)
    assert program
    if "import torch" in program:
        pytest.importorskip("torch")
    (tmp_path / "specs").symlink_to(ROOT / "specs")
    (tmp_path / "page.py").write_text(program)
    done = run(sys.executable, "page.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = re.findall(r"# prints: (.*)", program)
    assert done.stdout.splitlines() == said


def test_the_notebook_is_its_page(tmp_path):
    (tmp_path / "Tutorial.md").write_text((ROOT / "docs/Tutorial.md").read_text())
    run(sys.executable, ROOT / "scripts/notebook", tmp_path / "Tutorial.md", check=True)
    made, kept = ((folder / "Tutorial.ipynb").read_text() for folder in (tmp_path, ROOT / "docs"))
    assert made == kept, "scripts/notebook docs/Tutorial.md writes it anew"


def test_the_notebook_runs(tmp_path):
    """Cell after cell in one process, as Jupyter does; each prints what the notebook has."""
    pytest.importorskip("torch")
    program = """
import contextlib, io, json, linecache, sys
names = {"__name__": "__main__"}
cells = [one for one in json.load(open(sys.argv[1]))["cells"] if one["cell_type"] == "code"]
for i, cell in enumerate(cells):
    source, file, said = "".join(cell["source"]), f"<cell {i}>", io.StringIO()
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    with contextlib.redirect_stdout(said):
        exec(compile(source, file, "exec"), names)
    kept = "".join(line for one in cell["outputs"] for line in one["text"])
    assert said.getvalue() == kept, (source, said.getvalue())
print(len(cells), "cells")
"""
    done = run(sys.executable, "-c", program, ROOT / "docs/Tutorial.ipynb", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"[1-9]\d* cells\n", done.stdout)


def test_wheel_has_the_licenses_of_what_is_inside(request):
    wheel = request.config.getoption("--wheel")
    if not wheel:
        pytest.skip("--wheel names none")
    with zipfile.ZipFile(wheel) as files:
        texts = {os.path.basename(name): files.read(name).decode() for name in files.namelist() if "/licenses/" in name}
    assert "Apache License" in texts["LICENSE"]
    named = ("LLVM", "zlib", "zstd", "nanobind", "robin-map", "GNU C++ library")
    assert [name for name in named if name not in texts["THIRD-PARTY-LICENSES.txt"]] == []


def test_wheel_alone(request, tmp_path):
    """The wheel in a clean environment, with no program in PATH and no variable set."""
    wheel = request.config.getoption("--wheel")
    if not wheel:
        pytest.skip("--wheel names none")
    assert os.path.getsize(wheel) <= 25_000_000
    assert "manylinux_2_34" in os.path.basename(wheel)
    run(sys.executable, "-m", "venv", tmp_path / "venv", check=True)
    python = tmp_path / "venv/bin/python"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, check=True)
    program = (
        "import numpy as np, polyattn"
        "\nassert polyattn.__file__.startswith('" + str(tmp_path) + "')"
        "\noptions = {'spec': polyattn.spec_path('hedgehog'), 'entry': 'hedgehog', 'sizes': {'d': 32, 'dv': 32}}"
        "\nassert str(options['spec']).startswith('" + str(tmp_path) + "')"
        "\nkernel = polyattn.compile(**options)"
        "\narguments = [np.random.rand(*(dict(B=1, T=100, H=4, Hkv=4).get(size, size) for size in one.shape)).astype('f4')"
        "\n             for one in kernel.signature.arguments]"
        "\nexpected = polyattn.reference(**options)(*arguments)"
        "\nassert abs(kernel(*arguments) - expected).max() < 1e-5 * abs(expected).max()"
        "\ntry:"
        "\n    kernel.save('saved')"
        "\n    raise SystemExit('saved without a linker')"
        "\nexcept polyattn.CallError as error:"
        "\n    assert 'none of cc, clang' in str(error), error\n"
    )
    (tmp_path / "page.py").write_text(program)
    done = run(python, "page.py", cwd=tmp_path, env={"PATH": ""})
    assert done.returncode == 0, done.stderr


def test_a_package_elsewhere_takes_the_same_kernels(tmp_path):
    """The cache knows the build, not the file's place and time."""
    packages = pathlib.Path(polyattn.__file__).parents[1]
    shutil.copytree(packages / "polyattn", tmp_path / "polyattn", copy_function=shutil.copyfile)
    shutil.copytree(next(packages.glob("polyattn-*.dist-info")), tmp_path / "polyattn-0.dist-info")
    program = (
        "import sys, polyattn\n"
        "polyattn.compile(sys.argv[1], 'linear', cache=sys.argv[2])\n"
        "print(polyattn.__file__)\n"
    )
    cache = tmp_path / "cache"
    for path in (packages, tmp_path):
        done = run(sys.executable, "-c", program, ROOT / "specs/linear.mlir", cache,
                   cwd=tmp_path / "polyattn", env={**os.environ, "PYTHONPATH": str(path)})  # fmt: skip
        assert done.stdout.startswith(str(path)), done.stderr
        assert len(list(cache.iterdir())) == 1


def test_version():
    version = re.search(r"project\(polyattn VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    assert polyattn.__version__ == version[1]
    assert f"\nversion: {version[1]}\n" in (ROOT / "CITATION.cff").read_text()
    assert re.search(r"\n## ([0-9.]+),", (ROOT / "CHANGELOG.md").read_text())[1] == version[1]
