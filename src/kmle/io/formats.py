"""Which format a table is in, told by its first bytes when reading and by its extension when writing."""

import gzip
import io
import json
import sys
import zipfile
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import BinaryIO, cast

from .encodings import Recoded, encoding_of

# Enough of a file to tell its format, its delimiter and the kinds of its columns.
HEAD_BYTES = 1 << 18

MAGIC = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow-stream",
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz",
    b"\xd0\xcf\x11\xe0": "excel",
}
# What an archive holds that is a spreadsheet of Excel or LibreOffice.
SPREADSHEETS = ("xl/workbook.xml", "xl/workbook.bin", "content.xml")
JSON_LINES = (".jsonl", ".ndjson")
EXTENSIONS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".npy": "npy",
    ".npz": "npz",
}


@dataclass(frozen=True)
class Source:
    """Where a table comes from: a file, gzipped or not, or all that standard input held (`content`)."""

    name: str
    kind: str
    head: bytes
    """The beginning, uncompressed: the whole if there is no more than `HEAD_BYTES`."""
    path: Path | None = None
    zipped: bool = False
    content: bytes = b""
    encoding: str | None = None
    """That of text, None for UTF-8."""
    notes: tuple[str, ...] = ()

    def open(self) -> BinaryIO:
        """The bytes from the beginning, uncompressed, and text in UTF-8."""
        if self.encoding is None:
            return self._bytes()
        return cast(BinaryIO, io.BufferedReader(Recoded(self._bytes(), self.encoding, self.name)))

    def _bytes(self) -> BinaryIO:
        if self.zipped:
            return cast(BinaryIO, gzip.open(io.BytesIO(self.content) if self.path is None else self.path))
        return io.BytesIO(self.content) if self.path is None else self.path.open("rb")

    def plain(self) -> Path | BinaryIO:
        """The file itself where it can be read in place, its bytes where not."""
        if self.path is not None and not self.zipped and self.encoding is None:
            return self.path
        with self.open() as file:
            return io.BytesIO(file.read())

    @property
    def size(self) -> int:
        """Bytes as stored."""
        return len(self.content) if self.path is None else self.path.stat().st_size


def open_source(path: str, encoding: str | None = None) -> Source:
    """Looks at the beginning of a file, or reads standard input for "-"; a path to nothing gets one sentence.

    Text is in the `encoding` named, or in the one that its beginning shows.
    """
    if path == "-":
        source = Source("standard input", "", b"", content=sys.stdin.buffer.read())
    else:
        source = Source(path, "", b"", existing_file(path))
    with source.open() as file:
        source = replace(source, zipped=file.read(2) == b"\x1f\x8b")
    with source.open() as file:
        source = replace(source, head=file.read(HEAD_BYTES))
    if not source.head.strip():
        raise ValueError(f"{source.name} is empty")
    for magic, kind in MAGIC.items():
        if source.head.startswith(magic):
            return replace(source, kind=_archive_kind(source) if kind == "npz" else kind)
    return _as_text(source, encoding)


def _as_text(source: Source, asked: str | None) -> Source:
    """A source of no binary format: separated text or JSON lines, recoded if it is not in UTF-8."""
    encoding, note = encoding_of(source.name, source.head, asked)
    if encoding is not None:
        source = replace(source, encoding=encoding, notes=() if note is None else (note,))
        with source.open() as file:
            source = replace(source, head=file.read(HEAD_BYTES))
    if b"\0" in source.head[:4096]:
        raise ValueError(
            f"{source.name} is a binary file of unknown format: give text, Excel, Parquet, Arrow, NPY or NPZ"
        )
    start = source.head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not start.startswith((b"{", b"[{")) and not start.startswith(b"[\n"):
        return replace(source, kind="text")
    if _is_json_lines(source):
        return replace(source, kind="json lines")
    raise ValueError(
        f"{source.name} looks like JSON, not like a table: give JSON lines, one object per line "
        "(models come before data on the command line)"
    )


def _is_json_lines(source: Source) -> bool:
    """Several lines that are an object each; one line only where the name says so."""
    lines = [line for line in source.head.splitlines() if line.strip()]
    named = Path(source.name.removesuffix(".gz")).suffix.lower() in JSON_LINES
    if not named and (len(lines) < 2 or not lines[1].lstrip().startswith(b"{")):
        return False
    try:
        return isinstance(json.loads(lines[0].decode("utf-8-sig")), dict)
    except ValueError:
        return False


def _archive_kind(source: Source) -> str:
    try:
        with zipfile.ZipFile(source.plain()) as archive:
            members = archive.namelist()
    except zipfile.BadZipFile as error:
        raise ValueError(f"{source.name} is a damaged NPZ or Excel file: {str(error).lower()}") from None
    if any(member in SPREADSHEETS for member in members):
        return "excel"
    if not members or not all(member.endswith(".npy") for member in members):
        raise ValueError(f"{source.name} is a zip archive without arrays or a spreadsheet: save the table as CSV")
    return "npz"


def existing_file(path: str) -> Path:
    """The path, or one sentence why there is no file to read there."""
    where = Path(path)
    if where.is_dir():
        raise ValueError(f"{path} is a directory: name a file in it")
    if not where.exists():
        near = get_close_matches(where.name, _neighbours(where), n=1)
        hint = f"; did you mean {where.with_name(near[0])}?" if near else ""
        raise ValueError(f"file {path} not found{hint}")
    return where


def _neighbours(where: Path) -> list[str]:
    return [entry.name for entry in where.parent.iterdir()] if where.parent.is_dir() else []


def output_kind(path: str) -> tuple[str, bool]:
    """The format an output path asks for, and whether it is to be gzipped; "-" is CSV on standard output.

    >>> output_kind("labels.csv.gz")
    ('csv', True)
    """
    if path == "-":
        return "csv", False
    where = Path(path)
    zipped = where.suffix.lower() == ".gz"
    extension = (where.with_suffix("") if zipped else where).suffix.lower()
    if extension not in EXTENSIONS:
        raise ValueError(f"{path} has no extension of a table format: use one of {', '.join(EXTENSIONS)}")
    return EXTENSIONS[extension], zipped


def check_batches_output(path: str) -> None:
    """Refuses, before any work is done, a format that is not written batch by batch."""
    kind, zipped = output_kind(path)
    if kind == "npz" or (zipped and kind not in ("csv", "tsv")):
        message = f"gzipped {kind.upper()}" if zipped and kind != "npz" else "NPZ"
        raise ValueError(f"{path}: {message} cannot be written batch by batch: use .csv, .csv.gz, .npy or .parquet")
