"""python -m generate SOURCE BUILD OUT: the folder OUT that Sphinx reads."""

import shutil
import sys
from pathlib import Path

from . import c_api, commands, gallery, navigation, ops, passes, performance, python_api


def main(source: Path, build: Path, out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    # Copies, as MyST follows symbolic links out of the folder.
    for entry in sorted(source.iterdir()):
        if entry.is_dir() and not entry.name.startswith((".", "build")):
            shutil.copytree(entry, out / entry.name, ignore=shutil.ignore_patterns("site", "__pycache__", "*.so*"))
        elif entry.suffix == ".md" or entry.name in ("LICENSE", "CITATION.cff"):
            shutil.copy(entry, out)
    site = out / "site"
    site.mkdir()
    pages = {
        "Look up": [
            *python_api.write(source, site),
            *c_api.write(site),
            *commands.write(build / "bin", site),
            *ops.write(source, site),
            *passes.write(source, site),
        ],
        "Performance": performance.write(source, site),
        "Gallery": gallery.write(source, build / "bin", site),
    }
    navigation.write(source, out, pages)


if __name__ == "__main__":
    main(*(Path(argument).resolve() for argument in sys.argv[1:]))
