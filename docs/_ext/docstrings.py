"""Docstrings are plain text: a bar in a formula such as |x - location| is a bar, not a substitution."""

from typing import Any

from sphinx.application import Sphinx


def escape_bars(_app: Sphinx, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    for number, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...", "|")):
            words = line.split("`")  # every second one is code
            lines[number] = "`".join([part if i % 2 else part.replace("|", r"\|") for i, part in enumerate(words)])


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", escape_bars)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
