"""Outputs of commands: what can be known to go wrong is said before any work, and every file is written safely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

PLOT_FORMATS = (".png", ".svg", ".pdf", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".eps")
PAGE_FORMATS = (".html", ".htm")


def plot_name(path: str | None, option: str = "--plot") -> str | None:
    """The file that an option names for a plot: PNG without an extension; a format that cannot be drawn is refused.

    >>> plot_name("fit"), plot_name("fit.svg")
    ('fit.png', 'fit.svg')
    """
    return _named(path, option, PLOT_FORMATS, "matplotlib", "plot")


def page_name(path: str | None, option: str = "--report") -> str | None:
    """The file that an option names for a report, which is a page.

    >>> page_name("fit")
    'fit.html'
    """
    return _named(path, option, PAGE_FORMATS)


def _named(
    path: str | None, option: str, formats: Sequence[str], package: str | None = None, extra: str = ""
) -> str | None:
    if path is None:
        return None
    if path == "-":
        raise ValueError(f"{option} cannot be written to standard output: give a file name")
    if package is not None and find_spec(package) is None:
        raise ModuleNotFoundError(f"{option} needs {package}: pip install 'kmle[{extra}]'", name=package)
    place = Path(path)
    if place.exists() and not place.is_file() and not place.is_dir():
        return path  # a device or a pipe has no extension to go by
    if place.suffix == "":
        return f"{path}{formats[0]}"
    if place.suffix.lower() not in formats:
        raise ValueError(f"{option} {path}: unknown format {place.suffix}; use {', '.join(formats)}")
    return path


def check_table_output(path: str | None, *, batches: bool = False) -> None:
    """Refuses a table whose extension names no format, or none that is written in batches."""
    if path is None:
        return
    from ..io.formats import check_batches_output, output_kind

    (check_batches_output if batches else output_kind)(path)


def check_files(outputs: Mapping[str, str | None], inputs: Sequence[str | None], force: bool) -> None:
    """Refuses outputs that would replace an input, each other, or (unless forced) a file that exists."""
    from ..io.outputs import check_outputs

    check_outputs(outputs, inputs, force=force)


def check_checkpoint(checkpoint: str | None, inputs: Sequence[str | None], resume: bool, force: bool) -> None:
    """A checkpoint is a file of its own; one that exists is continued or replaced on demand only."""
    if checkpoint is None:
        return
    if checkpoint == "-":
        raise ValueError("--checkpoint cannot be written to standard output: give a file name")
    from ..io.outputs import check_outputs, is_regular

    check_outputs({"--checkpoint": checkpoint}, inputs, force=True)
    if Path(checkpoint).exists() and not is_regular(checkpoint):
        raise ValueError(f"--checkpoint {checkpoint} is a device or a pipe: give a file name")
    if is_regular(checkpoint) and not (resume or force):
        raise ValueError(f"--checkpoint {checkpoint}: the file exists; --resume continues from it, --force replaces it")
