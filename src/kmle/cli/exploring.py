"""`kmle explore`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from .app import Command, app, examples
from .interruption import deferred
from .pages import data_name
from .terminal import Terminal

if TYPE_CHECKING:
    from ..explorer.source import Source


@app.command(cls=Command, epilog=examples("kmle explore data.csv", "kmle explore data.parquet --no-browser"))
def explore(
    data: o.Data,
    columns: o.Columns = None,
    categorical: o.Categorical = None,
    header: o.Header = None,
    separator: o.Separator = None,
    encoding: o.Encoding = None,
    thousands: o.Thousands = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address instead of opening the browser.")
    ] = False,
    quiet: o.Quiet = False,
) -> None:
    """Choose columns, family and number of components on a live page in the browser.

    The page is on this machine only, and its address has a random token. Stop with Ctrl-C.
    """
    terminal = Terminal(quiet, False)
    with deferred():
        from ..explorer import serve
    source = _source(terminal, data, columns, categorical, (header, separator, encoding, thousands))
    serve(source, browser=not no_browser, say=print)


def _source(
    terminal: Terminal, path: str, columns: str | None, categorical: str | None, text: tuple[Any, ...]
) -> Source:
    """The file as the page sees it, and how others read it the same way."""
    import numpy as np

    from ..explorer.provenance import FromFile
    from ..explorer.source import from_table
    from ..io.reading import read_table
    from ..io.text import TextOptions

    coded = o.split_columns(categorical, "--categorical") or []
    options: dict[str, Any] = {"categories": dict.fromkeys(coded)} if coded else {}
    named = dict(zip(("header", "separator", "encoding", "thousands"), text, strict=True))
    given = {name: value for name, value in named.items() if value is not None}
    if given:
        options["text"] = TextOptions(**given)
    with terminal.working(f"reading {path}"):
        table = read_table(path, o.split_columns(columns), ignore_text=True, keep_missing=True, **options)
    for note in table.notes:
        terminal.note(f"note: {note}")
    arguments = ["--categorical", ",".join(coded)] if coded else []
    for name, value in given.items():
        arguments += ["--header" if value else "--no-header"] if name == "header" else [f"--{name}", value]
    has_missing = bool(np.isnan(table.rows).any())
    return from_table(table, data_name(table.source), FromFile(path, options, tuple(arguments), has_missing))
