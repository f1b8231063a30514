"""The application: its commands, and what becomes of errors."""

import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperCommand, TyperGroup

from .terminal import printable

BAD_USAGE, FAILED = 2, 1
# What a file holds may be quoted in an error; no more than this many characters are.
LONGEST = 600


class _WithExamples:
    """Help that ends with the epilog as it is written; what Typer makes of its line ends differs between versions."""

    epilog: str | None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Prints the help."""
        lines, self.epilog = self.epilog, None
        super().format_help(ctx, formatter)  # type: ignore[misc]
        self.epilog = lines
        if lines:
            print(f" {lines}\n")


class Command(_WithExamples, TyperCommand):
    """A command with examples."""


class Commands(_WithExamples, TyperGroup):
    """Turns every error of a command into one sentence and an exit code; no traceback reaches a user."""

    def list_commands(self, ctx: Any) -> list[str]:
        """In the order in which they were added."""
        return list(self.commands)

    def invoke(self, ctx: Any) -> Any:
        """Runs the command."""
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                return super().invoke(ctx)
        except ValueError as error:
            _print_message(error)
            raise typer.Exit(BAD_USAGE) from None
        except OSError as error:
            raise typer.Exit(_unwritten(error)) from None
        except ImportError as error:
            _print_message(_missing_package(error))
            raise typer.Exit(FAILED) from None
        except KeyboardInterrupt:
            _print_message("interrupted")
            raise typer.Exit(FAILED) from None
        except MemoryError:
            _print_message("not enough memory: use fewer rows, columns or components, or --stream")
            raise typer.Exit(FAILED) from None
        except Exception as error:
            # What ends a command on purpose, or is wrong usage, knows its exit code.
            if isinstance(error, typer.Abort) or hasattr(error, "exit_code"):
                raise
            _print_message(f"internal error, {type(error).__name__}: {error}; set KMLE_DEBUG=1 to see the traceback")
            if os.environ.get("KMLE_DEBUG"):
                traceback.print_exc()
            raise typer.Exit(FAILED) from None


@contextmanager
def flushed() -> Iterator[None]:
    """Within it standard output is written to its end, also by help; where it cannot be, that is said."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        sys.exit(_unwritten(error))


def _unwritten(error: OSError) -> int:
    """What is said when the system refuses; the exit code."""
    if isinstance(error, BrokenPipeError) or "cannot be written" not in str(error):
        # What is left in the buffer of standard output has nowhere to go.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if not isinstance(error, BrokenPipeError):
        reason = error.strerror or str(error)
        message = (
            reason if error.errno is None or "cannot be" in reason else f"standard output cannot be written: {reason}"
        )
        _print_message(message if error.filename is None else f"{error.filename}: {reason.lower()}")
    return FAILED


def _print_message(error: object) -> None:
    console = Console(stderr=True, highlight=False, emoji=False)
    console.print("[bold red]error:[/] ", end="")
    sentence = printable(str(error))
    cut = sentence if len(sentence) <= LONGEST else sentence[:LONGEST] + " ..."
    console.print(cut, markup=False, soft_wrap=True)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    Console(stderr=True, highlight=False).print(f"warning: {message}", markup=False, soft_wrap=True)


def _missing_package(error: ImportError) -> str:
    extras = {"polars": "cli", "pyarrow": "cli", "matplotlib": "plot", "plotly": "report", "fastexcel": "excel"}
    name = (error.name or "").split(".")[0]
    if "pip install" in str(error) or name not in extras:
        return str(error)
    if extras[name] == "cli":
        return "the command line needs typer, rich and polars: pip install 'kmle[cli]'"
    return f"this needs {name}: pip install 'kmle[{extras[name]}]'"


def examples(*lines: str) -> str:
    """The foot of a command's help."""
    return "\n".join(["Examples:", *(f"   {line}" for line in lines)])


app = typer.Typer(
    name="kmle",
    cls=Commands,
    help="Fit mixtures of any exponential family to a table.",
    epilog=examples("kmle demo", "kmle fit data.csv -k 3", "kmle fit data.csv --family gamma --out model.json"),
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"kmle {version('kmle')}")
        raise typer.Exit


@app.callback()
def _kmle(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass
