"""Formulas as MathML, which browsers draw without scripts, so that pages also work from a file path and offline."""

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx

THIN = '<mspace width="0.17em"/>'


def formula(latex: str, **options: str) -> str:
    """A formula with a thin space after names of functions, and semicolons as separators."""
    drawn = convert(latex, **options)
    drawn = re.sub(r"(<mi>(?:log|exp|min|max)</mi>)(?!<mo stretchy=\"false\">&#x00028;)", rf"\1{THIN}", drawn)
    return drawn.replace("<mi>;</mi>", '<mo separator="true" lspace="0" rspace="0.17em">;</mo>')


def visit_inline(translator: Any, node: nodes.Element) -> None:
    translator.body.append(formula(node.astext()))
    raise nodes.SkipNode


def visit_block(translator: Any, node: nodes.Element) -> None:
    translator.body.append(f'<div class="math">{formula(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
