"""CSV, TSV and their kin by polars: the layout is sniffed, then numbers are read block by block."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import polars as pl

from .categories import MISSING, Categories
from .formats import HEAD_BYTES, Source
from .text_kinds import REMEDIES, WORDS, kind_of_text

# Text is parsed in blocks, so that a big file is never held whole: about this many bytes for each of polars' threads,
# or for each column, up to a limit, as every column of a block costs a few calls.
BLOCK_BYTES = 512 << 10
MOST_COLUMNS = 16
# No text between quotes is longer than this; where it seems to be, a quote is not closed.
QUOTED_BYTES = 64 << 20
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
NAMES = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "bar": "|", "pipe": "|"}
# A space between digits may be one that does not break a line, or a thin one.
SPACES = " \u00a0\u202f\u2009"
THOUSANDS = {"comma": ",", "point": ".", "dot": ".", "space": " ", "apostrophe": "'", "underscore": "_"}


@dataclass(frozen=True)
class TextOptions:
    """What is known about a text file before it is examined; None is found out."""

    has_header: bool | None = None
    separator: str | None = None
    encoding: str | None = None
    thousands: str | None = None

    def __post_init__(self) -> None:
        if self.separator is not None:
            mark = NAMES.get(self.separator.lower(), self.separator)
            if len(mark) != 1 or not mark.isascii() or mark.isalnum() or mark in '"\r\n':
                raise ValueError(
                    f"--separator is {self.separator!r}: give one character such as ';', or a name such as tab"
                )
            object.__setattr__(self, "separator", mark)
        if self.thousands is not None:
            mark = THOUSANDS.get(self.thousands.lower(), self.thousands)
            if mark not in THOUSANDS.values():
                raise ValueError(f"--thousands is {self.thousands!r}: give one of , . ' _ or space")
            object.__setattr__(self, "thousands", mark)

    def ungrouped(self, cell: str) -> str:
        """The cell without the marks that group digits."""
        marks = "" if self.thousands is None else SPACES if self.thousands == " " else self.thousands
        return cell.translate(dict.fromkeys(map(ord, marks)))


@dataclass(frozen=True)
class Layout:
    """How a text file is laid out, and what its first lines hold."""

    separator: str
    has_header: bool
    decimal_comma: bool
    asked: TextOptions
    sample: pl.DataFrame = field(repr=False)
    """The first rows, each column as polars takes it."""

    @property
    def first_line(self) -> int:
        """The line of row 0, counted from one."""
        return 1 + self.has_header

    def note(self, name: str) -> str | None:
        """What was found out that a reader may not expect."""
        parts = []
        usual = self.separator == "," or (self.separator == "\t" and ".tsv" in name)
        if self.asked.separator is None and not usual:
            parts.append(f"fields are separated by {SEPARATORS[self.separator]}")
        if self.decimal_comma:
            parts.append("the decimal mark is a comma")
        if not self.has_header:
            why = "the first line is numbers, so " if self.asked.has_header is None else ""
            hint = " (with --header the first line names them)" if self.asked.has_header is None else ""
            parts.append(f"{why}columns are named x0, x1, ...{hint}")
        return f"{name}: {'; '.join(parts)}" if parts else None

    def plain(self, cells: pl.Expr) -> pl.Expr:
        """Cells of text with their numbers as Python writes them."""
        cells = cells.str.strip_chars()
        if self.asked.thousands is not None:
            marks = SPACES if self.asked.thousands == " " else self.asked.thousands
            cells = cells.str.replace_all(f"[{marks}]", "")
        return cells.str.replace(",", ".", literal=True) if self.decimal_comma else cells


def sniff(source: Source, asked: TextOptions = TextOptions()) -> Layout:
    """The layout: the separator that cuts all first lines into as many fields, and whether the first line is names."""
    lines = source.head.decode("utf-8-sig", errors="replace").splitlines()
    if len(source.head) == HEAD_BYTES and len(lines) > 1:
        lines.pop()  # cut short
    first = [line for line in lines[:100] if line.strip()]
    widths = {mark: {len(row) for row in csv.reader(first, delimiter=mark)} for mark in SEPARATORS}
    even = [mark for mark in SEPARATORS if len(widths[mark]) == 1 and widths[mark] != {1}]
    in_header = [mark for mark in ",;\t|" if mark in first[0]]
    found = next(iter([mark for mark in even if mark in in_header] or in_header or even or [","]))
    separator = asked.separator or found
    rows = list(csv.reader(first, delimiter=separator))
    has_header = not all(_is_number(cell.replace(",", ".")) for cell in rows[0])
    has_header = has_header if asked.has_header is None else asked.has_header
    cells = [asked.ungrouped(cell) for row in rows[has_header:] for cell in row]
    commas = any("," in cell and _is_number(cell.replace(",", ".")) for cell in cells)
    # Between commas a cell with a comma stands in quotes: it is grouped by it, unless points group.
    decimal_comma = commas and asked.thousands != "," and (separator != "," or asked.thousands is not None)
    options = {"separator": separator, "has_header": has_header, "decimal_comma": decimal_comma and separator != ","}
    check_widths(first, len(rows[0]), separator, 1)
    sample = _parsed("\n".join(lines).encode(), infer_schema_length=None, null_values=MISSING, **options)
    if not has_header:
        sample.columns = [f"x{place}" for place in range(sample.width)]
    return Layout(separator, has_header, decimal_comma, asked, sample)


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
                "correct it, or quote text that contains separators"
            )


def _parsed(text: bytes, **options: Any) -> pl.DataFrame:
    return pl.read_csv(io.BytesIO(text), **options)


def read_blocks(
    source: Source, layout: Layout, wanted: Sequence[str], categories: Categories | None = None
) -> Iterator[pl.DataFrame]:
    """The wanted columns as numbers (or codes of categories), block after block; a cell that is no number is named."""
    categories = categories or Categories()
    names = layout.sample.columns
    kinds = {name: pl.Boolean if kind == pl.Boolean else pl.Float64 for name, kind in layout.sample.schema.items()}
    schema = {name: kinds[name] if name in wanted and name not in categories else pl.String for name in names}
    options = {
        "separator": layout.separator,
        "has_header": False,
        "decimal_comma": layout.decimal_comma and layout.separator != ",",
        "columns": [place for place, name in enumerate(names) if name in wanted],
    }
    row = 0
    for text in _cut(source, layout):
        frame = _fast(text, layout, schema=schema, **options)
        if frame is None:
            check_widths(_lines(text, row + layout.first_line), len(names), layout.separator, row + layout.first_line)
            cells = _parsed(text, schema=dict.fromkeys(names, pl.String), **options)
            frame = numbers_of(cells, row, layout, categories)
        yield coded(frame, categories, row, layout)
        row += frame.height


def _fast(text: bytes, layout: Layout, **options: Any) -> pl.DataFrame | None:
    """The block, if polars can read it at once; grouped digits and words for missing values it cannot."""
    if layout.asked.thousands is not None:
        return None
    try:
        return _parsed(text, **options)
    except pl.exceptions.PolarsError:
        return None


def coded(frame: pl.DataFrame, categories: Categories, first_row: int, layout: Layout) -> pl.DataFrame:
    """All columns as floats, categories by their codes."""

    def row_name(row: int) -> str:
        return f"row {first_row + row} (line {first_row + row + layout.first_line})"

    codes = [categories.codes(frame[name], row_name) for name in frame.columns if name in categories]
    return (frame.with_columns(codes) if codes else frame).cast(pl.Float64)


def read_cells(source: Source, layout: Layout) -> pl.DataFrame:
    """All columns as the text they are."""
    names = layout.sample.columns
    schema = dict.fromkeys(names, pl.String)
    blocks = [
        _parsed(text, schema=schema, separator=layout.separator, has_header=False) for text in _cut(source, layout)
    ]
    return pl.concat(blocks) if blocks else pl.DataFrame(schema=schema)


def _lines(text: bytes, first_line: int) -> list[str]:
    try:
        return text.decode().splitlines()
    except UnicodeDecodeError as error:
        line = first_line + text[: error.start].count(b"\n")
        raise ValueError(f"line {line} is not UTF-8 text: give its encoding, for example --encoding latin-1") from None


def _cut(source: Source, layout: Layout) -> Iterator[bytes]:
    """The lines after the header in blocks of whole lines; a line's end between quotes is none."""
    with source.open() as file:
        pending = file.read(3).removeprefix(b"\xef\xbb\xbf")
        if layout.has_header:
            pending = _without_header(pending, file)
        place = 0
        size = BLOCK_BYTES * max(pl.thread_pool_size(), min(layout.sample.width, MOST_COLUMNS))
        while block := file.read(size):
            block = pending + block + file.readline()
            if b'"' in block and block.count(b'"') % 2:
                block += _to_closing_quote(file, source, layout, place + block.count(b"\n", 0, block.rfind(b'"')))
            # Empty lines wait for what follows: those at the end of the file are no rows.
            if block.endswith((b"\n\n", b"\n\r\n")) or block.isspace():
                pending = block
            else:
                place += block.count(b"\n")
                yield block
                pending = b""
        if pending.strip():
            yield pending.rstrip(b"\r\n")


def _without_header(start: bytes, file: BinaryIO) -> bytes:
    """What follows the first line, as far as it is read already."""
    _, end, rest = start.partition(b"\n")
    if not end:
        file.readline()
    return rest


def _to_closing_quote(file: BinaryIO, source: Source, layout: Layout, lines_before: int) -> bytes:
    """The lines up to the one that closes a quote after a number of lines of data."""
    lines = []
    size = 0
    while line := file.readline():
        lines.append(line)
        size += len(line)
        if line.count(b'"') % 2:
            break
        if size > QUOTED_BYTES:
            number = lines_before + layout.first_line
            raise ValueError(f"line {number} opens a quote that is never closed: close or remove it")
    return b"".join(lines)


def numbers_of(
    cells: pl.DataFrame, first_row: int, layout: Layout, categories: Categories | None = None
) -> pl.DataFrame:
    """Columns of text as numbers, but for categories, or one sentence about the first cell that is none."""
    names = [name for name in cells.columns if name not in (categories or ())]
    stripped = cells.select(pl.col(names).str.strip_chars())
    flags = [name for name in names if layout.sample.schema[name] == pl.Boolean]
    numbers = cells.select(layout.plain(pl.col(names)).cast(pl.Float64, strict=False))
    truth = {"true": 1.0, "false": 0.0}
    numbers = numbers.with_columns(
        cells[name].str.strip_chars().str.to_lowercase().replace_strict(truth, default=None, return_dtype=pl.Float64)
        for name in flags
    )
    for name in names:
        wrong = numbers[name].is_null() & stripped[name].is_not_null() & ~stripped[name].is_in(MISSING)
        if wrong.any():
            row = int(wrong.arg_max() or 0)
            raise ValueError(
                f"row {first_row + row} (line {first_row + row + layout.first_line}), column {name!r} holds "
                f"{_not_a_number(stripped[name][row])}"
            )
    return cells.with_columns(numbers)


def _not_a_number(value: str) -> str:
    """What is wrong with a cell, and the remedy."""
    kind = kind_of_text([value])
    remedy = REMEDIES.get(kind, "correct it, or leave it empty and use --drop-missing")
    return f"{value!r}, which is {WORDS.get(kind, 'not a number')}: {remedy}"
