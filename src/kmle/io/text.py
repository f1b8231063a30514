"""CSV, TSV and their kin by polars: the layout is sniffed, then numbers are read block by block."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import polars as pl

from .formats import HEAD_BYTES, Source

# Text is parsed in blocks, so that a big file is never held whole: about this many bytes for each of polars' threads,
# or for each column, up to so many, as every column of a block costs a few calls.
BLOCK_BYTES = 512 << 10
MOST_COLUMNS = 16
# No text between quotes is longer than this; where it seems to be, a quote is not closed.
QUOTED_BYTES = 64 << 20
MISSING = ["", "NA", "N/A", "n/a", "na", "NaN", "nan", "null", "NULL", "None", "?"]
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}


@dataclass(frozen=True)
class Layout:
    """How a text file is laid out, and what its first lines hold."""

    separator: str
    has_header: bool
    decimal_comma: bool
    sample: pl.DataFrame = field(repr=False)
    """The first rows, each column as polars takes it."""

    @property
    def first_line(self) -> int:
        """The line of row 0, counted from one."""
        return 1 + self.has_header

    def note(self, name: str) -> str | None:
        """What was found out that a reader may not expect."""
        told = []
        if self.separator != "," and not (self.separator == "\t" and ".tsv" in name):
            told.append(f"fields are separated by {SEPARATORS[self.separator]}")
        if self.decimal_comma:
            told.append("decimals have a comma")
        if not self.has_header:
            told.append("the first line is numbers, so columns are named x0, x1, ...")
        return f"{name}: {'; '.join(told)}" if told else None


def sniff(source: Source) -> Layout:
    """The layout: the separator that cuts all first lines into as many fields, and whether the first line is names."""
    lines = source.head.decode("utf-8-sig", errors="replace").splitlines()
    if len(source.head) == HEAD_BYTES and len(lines) > 1:
        lines.pop()  # cut short
    first = [line for line in lines[:100] if line.strip()]
    widths = {mark: {len(row) for row in csv.reader(first, delimiter=mark)} for mark in SEPARATORS}
    even = [mark for mark in SEPARATORS if len(widths[mark]) == 1 and widths[mark] != {1}]
    in_header = [mark for mark in ",;\t|" if mark in first[0]]
    separator = next(iter([mark for mark in even if mark in in_header] or in_header or even or [","]))
    rows = list(csv.reader(first, delimiter=separator))
    has_header = not all(_is_number(cell.replace(",", ".")) for cell in rows[0])
    cells = [cell for row in rows[has_header:] for cell in row]
    decimal_comma = separator != "," and any("," in cell and _is_number(cell.replace(",", ".")) for cell in cells)
    options = {"separator": separator, "has_header": has_header, "decimal_comma": decimal_comma}
    check_widths(first, len(rows[0]), separator, 1)
    sample = _parsed("\n".join(lines).encode(), infer_schema_length=None, null_values=MISSING, **options)
    if not has_header:
        sample.columns = [f"x{place}" for place in range(sample.width)]
    return Layout(separator, has_header, decimal_comma, sample)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def check_widths(lines: Sequence[str], width: int, separator: str, first_line: int) -> None:
    """Refuses a line with more fields than the first one."""
    for place, fields in enumerate(csv.reader(lines, delimiter=separator)):
        if len(fields) > width:
            raise ValueError(
                f"line {first_line + place} has {len(fields)} fields, the first line has {width}: "
                "correct it, or put text with separators in it between quotes"
            )


def _parsed(text: bytes, **options: Any) -> pl.DataFrame:
    return pl.read_csv(io.BytesIO(text), **options)


def read_blocks(source: Source, layout: Layout, wanted: Sequence[str]) -> Iterator[pl.DataFrame]:
    """The wanted columns as numbers, block after block; a cell that is no number is named."""
    names = layout.sample.columns
    kinds = {name: pl.Boolean if kind == pl.Boolean else pl.Float64 for name, kind in layout.sample.schema.items()}
    schema = {name: kinds[name] if name in wanted else pl.String for name in names}
    options = {
        "separator": layout.separator,
        "has_header": False,
        "decimal_comma": layout.decimal_comma,
        "columns": [place for place, name in enumerate(names) if name in wanted],
    }
    row = 0
    for text in _cut(source, layout):
        try:
            # Words for missing values are left to the slower way, which names what is wrong: here they cost time.
            frame = _parsed(text, schema=schema, **options)
        except pl.exceptions.PolarsError:
            lines = text.decode(errors="replace").splitlines()
            check_widths(lines, len(names), layout.separator, row + layout.first_line)
            cells = _parsed(text, schema=dict.fromkeys(names, pl.String), **options)
            frame = numbers_of(cells, row, layout)
        row += frame.height
        yield frame.cast(pl.Float64)


def _cut(source: Source, layout: Layout) -> Iterator[bytes]:
    """The lines after the header in blocks of whole lines; a line's end between quotes is none."""
    with source.open() as file:
        if file.read(3) != b"\xef\xbb\xbf":
            file.seek(0)
        if layout.has_header:
            file.readline()
        pending = b""
        line = layout.first_line
        size = BLOCK_BYTES * max(pl.thread_pool_size(), min(layout.sample.width, MOST_COLUMNS))
        while block := file.read(size):
            block = pending + block + file.readline()
            if block.count(b'"') % 2:
                block += _to_closing_quote(file, line + block[: block.rfind(b'"')].count(b"\n"))
            # Empty lines wait for what follows: those at the end of the file are no rows.
            if block.endswith((b"\n\n", b"\n\r\n")) or block.isspace():
                pending = block
            else:
                yield block
                line += block.count(b"\n")
                pending = b""
        if pending.strip():
            yield pending.rstrip(b"\r\n")


def _to_closing_quote(file: BinaryIO, opened: int) -> bytes:
    """The lines up to the one that closes the quote opened before them."""
    lines = []
    size = 0
    while line := file.readline():
        lines.append(line)
        size += len(line)
        if line.count(b'"') % 2:
            break
        if size > QUOTED_BYTES:
            raise ValueError(f"line {opened} opens a quote that no line after it closes: close it, or take it out")
    return b"".join(lines)


def numbers_of(cells: pl.DataFrame, first_row: int, layout: Layout) -> pl.DataFrame:
    """Columns of text as numbers, or one sentence about the first cell that is none."""
    stripped = cells.select(pl.all().str.strip_chars())
    points = stripped.select(pl.all().str.replace(",", ".", literal=True)) if layout.decimal_comma else stripped
    numbers = points.select(pl.all().cast(pl.Float64, strict=False))
    for name in cells.columns:
        wrong = numbers[name].is_null() & stripped[name].is_not_null() & ~stripped[name].is_in(MISSING)
        if wrong.any():
            row = int(wrong.arg_max() or 0)
            value = stripped[name][row]
            raise ValueError(
                f"row {first_row + row} (line {first_row + row + layout.first_line}), column {name!r} holds {value!r}, "
                "which is not a number: correct it, or leave it empty and use --drop-missing"
            )
    return numbers
