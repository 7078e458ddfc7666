"""The plots of benchmarks/, with which the site draws those of its own pages."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType


def plots(source: Path) -> ModuleType:
    folder = str(source / "benchmarks")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module("polybench.plots")
