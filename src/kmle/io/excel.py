"""Spreadsheets of Excel and LibreOffice, read by polars with its calamine engine."""

import io

import polars as pl

from .formats import Source


def read_excel(source: Source) -> pl.DataFrame:
    """The first sheet that has rows; one sentence where the engine is missing or the file is damaged."""
    try:
        import fastexcel  # noqa: F401 (polars needs it)
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"{source.name} is a spreadsheet, which needs fastexcel: pip install 'kmle[excel]', or save it as CSV",
            name="fastexcel",
        ) from None
    with source.open() as file:
        content = file.read()
    try:
        frame = pl.read_excel(io.BytesIO(content), engine="calamine", raise_if_empty=False)
    except Exception as error:
        # The engine has errors of its own, whose text goes over several lines.
        reason = str(error).strip().splitlines()[0]
        raise ValueError(f"{source.name} cannot be read as a spreadsheet: {reason}") from None
    assert isinstance(frame, pl.DataFrame)
    return frame
