"""Which format a table is in, told by its first bytes when reading and by its extension when writing."""

import gzip
import io
import sys
import zipfile
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import BinaryIO, cast

# Enough of a file to tell its format, its delimiter and the kinds of its columns.
HEAD_BYTES = 1 << 18

MAGIC = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow-stream",
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz",
}
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

    def open(self) -> BinaryIO:
        """The bytes from the beginning, uncompressed."""
        if self.zipped:
            return cast(BinaryIO, gzip.open(io.BytesIO(self.content) if self.path is None else self.path))
        return io.BytesIO(self.content) if self.path is None else self.path.open("rb")

    def plain(self) -> Path | BinaryIO:
        """The file itself where it can be read in place, its bytes where not."""
        if self.path is not None and not self.zipped:
            return self.path
        with self.open() as file:
            return io.BytesIO(file.read())

    @property
    def size(self) -> int:
        """Bytes as stored."""
        return len(self.content) if self.path is None else self.path.stat().st_size


def open_source(path: str) -> Source:
    """Looks at the beginning of a file, or reads standard input for "-"; a path to nothing gets one sentence."""
    if path == "-":
        source = Source("standard input", "", b"", content=sys.stdin.buffer.read())
    else:
        source = Source(path, "", b"", existing_file(path))
    with source.open() as file:
        source = replace(source, zipped=file.read(2) == b"\x1f\x8b")
    with source.open() as file:
        source = replace(source, head=file.read(HEAD_BYTES))
    return replace(source, kind=_kind_of(source))


def _kind_of(source: Source) -> str:
    name, head = source.name, source.head
    if not head.strip():
        raise ValueError(f"{name} is empty: there is nothing to read")
    for magic, kind in MAGIC.items():
        if head.startswith(magic):
            if kind == "npz":
                _check_archive(source)
            return kind
    if b"\0" in head[:4096]:
        raise ValueError(f"{name} is a binary file of no known kind: give UTF-8 text, Parquet, Arrow, NPY or NPZ")
    if head.lstrip().startswith(b"{"):
        raise ValueError(f"{name} looks like JSON, not like a table: models come before data on the command line")
    return "text"


def _check_archive(source: Source) -> None:
    try:
        with zipfile.ZipFile(source.plain()) as archive:
            members = archive.namelist()
    except zipfile.BadZipFile as error:
        raise ValueError(f"{source.name} is a damaged NPZ file: {error}") from None
    if not members or not all(member.endswith(".npy") for member in members):
        raise ValueError(f"{source.name} is a zip archive without arrays (a spreadsheet?): save the table as CSV")


def existing_file(path: str) -> Path:
    """The path, or one sentence why there is no file to read there."""
    where = Path(path)
    if where.is_dir():
        raise ValueError(f"{path} is a directory: name a file in it")
    if not where.exists():
        near = get_close_matches(where.name, _neighbours(where), n=1)
        hint = f"; did you mean {where.with_name(near[0])}?" if near else ""
        raise ValueError(f"there is no file {path}{hint}")
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
        raise ValueError(f"{path} has no extension that names a table format: use one of {', '.join(EXTENSIONS)}")
    return EXTENSIONS[extension], zipped


def check_batches_output(path: str) -> None:
    """Refuses, before any work is done, a format that is not written batch by batch."""
    kind, zipped = output_kind(path)
    if kind == "npz" or (zipped and kind not in ("csv", "tsv")):
        told = f"gzipped {kind.upper()}" if zipped and kind != "npz" else "NPZ"
        raise ValueError(f"{path}: {told} cannot be written batch by batch: use .csv, .csv.gz, .npy or .parquet")


def check_output(path: str | None) -> None:
    """Refuses, before any work is done, a path that cannot be written to."""
    if path is None or path == "-":
        return
    where = Path(path)
    if where.is_dir():
        raise ValueError(f"{path} is a directory: give the name of a file to write")
    if not where.parent.is_dir():
        raise ValueError(f"{path} cannot be written: there is no directory {where.parent}")
