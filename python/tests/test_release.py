"""What a release holds: its source distribution, and the long description that a package index shows."""

import importlib.util
import pathlib
import re
import subprocess
import tarfile

import pytest
from conftest import ROOT

spec = importlib.util.spec_from_file_location("long_description", ROOT / "python/metadata/long_description.py")
long_description = importlib.util.module_from_spec(spec)
spec.loader.exec_module(long_description)

# Folders and files without which the package builds.
LEFT_OUT = (
    ".", "Makefile", "CMakePresets.json", "CONTRIBUTING.md", "benchmarks/", "docs/", "examples/", "fuzz/", "python/tests/",
    "scripts/", "test/",
)  # fmt: skip


@pytest.fixture(scope="session")
def tools(request):
    """The environment in which scripts/wheel has built the wheel that is tested."""
    wheel = request.config.getoption("--wheel")
    if not wheel:
        pytest.skip("--wheel names none")
    tag = re.search(r"-cp(\d+)-", pathlib.Path(wheel).name)[1]
    return pathlib.Path(wheel).resolve().parents[2] / "wheel" / tag / "tools" / "bin"


@pytest.fixture(scope="session")
def sources(tools, tmp_path_factory):
    """The source distribution, unpacked."""
    folder = tmp_path_factory.mktemp("sdist")
    program = "import scikit_build_core.build, sys; scikit_build_core.build.build_sdist(sys.argv[1])"
    subprocess.run([tools / "python", "-c", program, folder], cwd=ROOT, check=True)
    (made,) = folder.glob("*.tar.gz")
    with tarfile.open(made) as file:
        file.extractall(folder, filter="data")
    return next(path for path in folder.iterdir() if path.is_dir())


def test_source_distribution_has_the_sources_of_the_package_only(sources):
    found = {str(path.relative_to(sources)) for path in sources.rglob("*") if path.is_file()}
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True,
                            text=True, check=True).stdout.splitlines()  # fmt: skip
    wanted = {name for name in listed if not name.startswith(LEFT_OUT) and (ROOT / name).is_file()}
    assert found == wanted | {"PKG-INFO"}


def test_source_distribution_has_all_that_its_sources_include(sources):
    missing = set()
    for path in sources.rglob("*"):
        if path.suffix in (".h", ".c", ".cpp", ".td"):
            names = re.findall(r'^\s*#?\s*include\s*"([^"]+)"', path.read_text(), re.M)
            missing |= {name for name in names if (ROOT / name).exists() and not (sources / name).exists()}
    assert not missing


def test_source_distribution_configures(sources, tools, tmp_path):
    """CMake finds everything without the folders that are left out; compiling takes as long as `make build`."""
    options = {
        "CMAKE_C_COMPILER": "clang-22", "CMAKE_CXX_COMPILER": "clang++-22", "CMAKE_PREFIX_PATH": "/usr/lib/llvm-22",
        "POLYATTN_PYTHON": "ON", "Python_EXECUTABLE": tools / "python",
    }  # fmt: skip
    command = [tools / "cmake", "-G", "Ninja", "-S", sources, "-B", tmp_path, *(f"-D{key}={value}" for key, value in options.items())]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    planned = subprocess.run(["ninja", "-C", tmp_path, "-n", "_polyattn"], capture_output=True, text=True)
    assert planned.returncode == 0 and "Team.cpp" in planned.stdout, planned.stdout + planned.stderr


def test_metadata(sources):
    """Authors are named, and no link of the description is relative."""
    text = (sources / "PKG-INFO").read_text()
    assert "\nAuthor: The polyattn authors\n" in text
    assert "\nDescription-Content-Type: text/markdown\n" in text and "# polyattn" in text
    assert not long_description.LINK.search(text)


def test_long_description():
    text = "![a\nplot](docs/a.svg)\n\nSee [one](docs/A.md#part) and [two](https://b.c/).\n```\n[x](y)\n```\n[three](#here)\n"
    url = "https://example.org/polyattn"
    assert long_description.absolute(text, url + "/", "1.2") == text.replace("](docs/a.svg", f"]({url}/raw/v1.2/docs/a.svg").replace(
        "](docs/A.md", f"]({url}/blob/v1.2/docs/A.md"
    )
    assert long_description.absolute("a\n\n" + text, None, "1.2") == (
        "a\n\nSee one and [two](https://b.c/).\n```\n[x](y)\n```\n[three](#here)\n"
    )
    readme = (ROOT / "README.md").read_text()
    for repository in (url, None):
        made = long_description.absolute(readme, repository, "1.2")
        assert not long_description.LINK.search(made)
        # The code stays.
        assert re.findall(r"^```.*?^```$", made, re.M | re.S) == re.findall(r"^```.*?^```$", readme, re.M | re.S)
