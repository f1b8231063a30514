"""The command line: `kmle fit data.csv -k 3`. Everything heavy is imported by the command that needs it."""

import sys
from io import TextIOWrapper


def main() -> None:
    """Runs the command `kmle`; without its extra it says what to install, and Ctrl-C ends it in one line."""
    try:
        _run()
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        sys.exit(1)


def _run() -> None:
    try:
        from .main import app
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("typer", "rich", "click"):
            raise
        print("the command line needs typer, rich and polars: pip install 'kmle[cli]'", file=sys.stderr)
        sys.exit(1)
    from .app import flushed

    for stream in (sys.stdout, sys.stderr):
        # A terminal that has no sign for something shows a question mark rather than an error.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    with flushed():
        app(prog_name="kmle")
