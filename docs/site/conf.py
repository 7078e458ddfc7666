"""Sphinx: the documentation site. scripts/docs makes its source folder and calls it."""

import importlib.metadata
import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import stand_ins

source = Path(os.environ["POLYATTN_SOURCE"])
sys.path.insert(0, str(source / "python"))

project = "polyattn"
copyright = "the polyattn authors"
release = re.search(r"project\(polyattn VERSION ([0-9.]+)", (source / "CMakeLists.txt").read_text())[1]
version = release

extensions = ["myst_parser", "sphinx_design", "sphinx.ext.autodoc", "breathe", "extension"]
source_suffix = {".md": "markdown"}
root_doc = "index"
# The source folder also holds the repository's files that pages link to: these become downloads.
include_patterns = ["*.md", "docs/**.md", "site/**.md", "**/README.md"]
exclude_patterns = ["README.md", "docs/README.md", "test/**", "lib/**"]
myst_enable_extensions = ["colon_fence", "dollarmath", "html_image"]
myst_heading_anchors = 4
# `$` begins mathematics only where no command line or shell variable could be meant.
myst_dmath_allow_space = False
myst_dmath_allow_digits = False

# `polyattn.__version__` asks for an installed package.
importlib.metadata.version = lambda package, real=importlib.metadata.version: release if package == project else real(package)
# The package is read as it is in the tree: no wheel, no native module, no PyTorch.
autodoc_mock_imports = ["polyattn._polyattn", "torch", "ml_dtypes"]
sys.modules |= stand_ins.modules()
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
# Signatures of ten arguments, one a line.
maximum_signature_line_length = 80

breathe_projects = {"polyattn": os.path.join(os.environ["POLYATTN_DOXYGEN"], "xml")}
breathe_default_project = "polyattn"
breathe_domain_by_file_pattern = {"*/polyattn-c/*.h": "c"}
breathe_show_include = False
c_id_attributes = ["POLYATTN_EXPORT"]
cpp_id_attributes = ["POLYATTN_EXPORT"]

toc_object_entries_show_parents = "hide"
html_theme = "furo"
html_title = f"polyattn {release}"
html_static_path = [str(Path(__file__).parent / "static")]
html_css_files = ["polyattn.css"]
html_extra_path = [os.path.join(os.environ["POLYATTN_EXTRA"])] if "POLYATTN_EXTRA" in os.environ else []
html_math_renderer = "mathml"
html_show_sphinx = False
html_copy_source = False
highlight_language = "text"
pygments_style = "friendly"
pygments_dark_style = "monokai"
# Tensor is polyattn's, the builder's or PyTorch's: signatures name it without a link.
# C structs have a tag and a type of one name, and C++ headers open one namespace.
suppress_warnings = ["ref.python", "duplicate_declaration.c", "duplicate_declaration.cpp"]
