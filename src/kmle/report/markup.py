"""Text that is safe where it stands: in HTML, in a script's data, in a label of a plot."""

import html
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..presentation.markup import element, text

__all__ = ["TIMES", "badge", "details", "element", "folded", "label", "script_data", "table", "text"]

LONG_NAME = 40
TIMES = "\N{MULTIPLICATION SIGN}"


def label(value: object) -> str:
    """Anything as text of a plot, which knows some tags and entities: short, on one line, without either.

    >>> label("<b>wide</b>")
    '&lt;b&gt;wide&lt;/b&gt;'
    """
    line = " ".join(str(value).split())
    return html.escape(line if len(line) <= LONG_NAME else line[: LONG_NAME - 1] + "…", quote=False)


def script_data(content: Any) -> str:
    """JSON that no parser of HTML can take for the end of its element.

    >>> script_data({"name": "</script>"})
    '{"name":"\\\\u003c/script\\\\u003e"}'
    """
    written = json.dumps(content, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        written = written.replace(character, f"\\u{ord(character):04x}")
    return written


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, above: str = "") -> str:
    """A table that scrolls by itself where it is wider than the page; the first cell of a row is its heading."""
    head = "".join(element("th", cell, scope="col") if cell else "<td></td>" for cell in heads)
    body = "".join(
        "<tr>" + element("th", row[0], scope="row") + "".join(element("td", cell) for cell in row[1:]) + "</tr>"
        for row in rows
    )
    parts = [element("thead", above, element("tr", head)), element("tbody", body)]
    return element("div", element("table", *parts), class_="scroll")


def details(pairs: Mapping[str, str]) -> str:
    """Names and what belongs to them; the latter is markup."""
    return '<dl class="facts">' + "".join(f"<dt>{text(k)}</dt><dd>{v}</dd>" for k, v in pairs.items()) + "</dl>"


def folded(summary: str, content: str, *, opened: bool = False) -> str:
    """Content behind a line that opens it."""
    return f"<details{' open' if opened else ''}><summary>{summary}</summary>{content}</details>"


def badge(component: int) -> str:
    """The number of a component in its colour."""
    return element("span", str(component), class_="badge", data_component=str(component))
