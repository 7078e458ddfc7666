"""A Sphinx extension: formulas without scripts from elsewhere, colours for MLIR, and links to the README."""

import inspect
import posixpath
import re

from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from pygments.lexer import RegexLexer, bygroups
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text
from sphinx.errors import ExtensionError
from sphinx.util.inspect import stringify_signature

import docstrings


class MLIRLexer(RegexLexer):
    """Pygments has none."""

    name = "MLIR"
    aliases = ["mlir"]
    tokens = {
        "root": [
            (r"//.*?$", Comment.Single),
            (r"\s+", Text),
            (r'"(\\.|[^"\\])*"', String),
            (r"[%^][\w.$-]+(:\d+|#\d+)?", Name.Variable),
            (r"@[\w.$-]+", Name.Function),
            (r"[#!][\w.$-]+", Name.Decorator),
            (r"0x[0-9a-fA-F]+|-?\d+\.\d*([eE][-+]?\d+)?|-?\d+([eE][-+]?\d+)?", Number),
            (r"\b(tensor|vector|memref|index|none|[suif]+\d+|bf16|tf32)\b", Keyword.Type),
            (
                r"(polyattn|tile|warp|arith|scf|func|gpu|llvm|math|memref|vector)(\.)([\w.]+)",
                bygroups(Keyword.Namespace, Punctuation, Keyword),
            ),
            (r"\b(map|return|attend|apply|read|yield|causal|anticausal|full|normalize|local|decay)\b", Keyword),
            (r"\b(seq|weight|head_weight|table|state)(?=\[)", Keyword.Type),
            (r"[A-Za-z_][\w$]*", Name),
            (r"->|[=+*/<>@:-]", Operator),
            (r"[\[\](){},.;|?$'&!^~%#\\]", Punctuation),
            (r".", Text),
        ]
    }


def _mathml(self, node, as_block):
    try:
        tree = tex2mathml(node.astext(), as_block=as_block)
    except MathError as error:
        raise ExtensionError(f"{node.source}:{node.line}: a formula that MathML cannot show: {error}") from None
    self.body.append(str(tree))


def _inline(self, node):
    from docutils.nodes import SkipNode

    _mathml(self, node, False)
    raise SkipNode


def _block(self, node):
    from docutils.nodes import SkipNode

    self.body.append('<div class="math">')
    _mathml(self, node, True)
    self.body.append("</div>")
    raise SkipNode


def _read_links(app, docname, content):
    """The README is the front page here, and a folder's page is its README."""
    folder = posixpath.dirname(docname)

    def target(match):
        path, anchor = match[1], match[2] or ""
        place = posixpath.normpath(posixpath.join(folder, path))
        if place in ("README.md", "docs/README.md", "docs"):
            return f"]({posixpath.relpath('index.md', folder or '.')})"
        if (app.srcdir / place).is_dir():
            return f"]({path.rstrip('/')}/README.md{anchor})"
        return match[0]

    content[0] = re.sub(r"\]\((?!\w+:)([^)#\s]+)(#[^)\s]*)?\)", target, content[0])


def _signature(app, what, name, obj, options, signature, returns):
    """A layer's arguments: its base class is a stand-in here, which takes any."""
    if what == "class" and "__init__" in vars(obj) and (signature or "").startswith("(*args"):
        found = inspect.signature(obj.__init__)
        found = found.replace(parameters=list(found.parameters.values())[1:], return_annotation=found.empty)
        return stringify_signature(found, unqualified_typehints=True), returns
    return None


def setup(app):
    app.add_lexer("mlir", MLIRLexer)
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("source-read", _read_links)
    app.connect("autodoc-process-docstring", docstrings.process)
    app.connect("autodoc-process-signature", _signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
