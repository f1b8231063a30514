"""Text in other encodings than UTF-8: which one it is in, and how it is read as UTF-8."""

import codecs
import io
from collections.abc import Callable
from typing import Any, BinaryIO

BLOCK_BYTES = 1 << 18
# Marks at the beginning of a file; the longer ones first, as one begins with another.
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def encoding_of(name: str, head: bytes, asked: str | None) -> tuple[str | None, str | None]:
    """The encoding of text that begins like this (None is UTF-8), and a note on one that nobody named."""
    if asked is not None:
        return _known(asked), None
    for mark, encoding in MARKS.items():
        if head.startswith(mark):
            return encoding, f"{name}: the text is in {encoding.upper()}"
    if (wide := _wide(head)) is not None:
        raise ValueError(f"{name} looks like {wide.upper()} text without a byte-order mark: use --encoding {wide}")
    if b"\0" in head[:4096] or _fits(head, "utf-8"):
        return None, None
    western = "windows-1252" if _fits(head, "windows-1252") else "latin-1"
    return western, f"{name}: the text is not UTF-8 and is read as {western} (--encoding sets another)"


def _known(asked: str) -> str | None:
    try:
        found = codecs.lookup(asked)
        "".encode(found.name)
    except LookupError:
        raise ValueError(f"--encoding {asked} is unknown: use utf-8, utf-16, latin-1, windows-1252, ...") from None
    return None if found.name in ("utf-8", "utf-8-sig", "ascii") else found.name


def _wide(head: bytes) -> str | None:
    """UTF-16 of mostly ASCII text has a zero byte in every pair."""
    start = head[: min(len(head), 4096) // 2 * 2]
    if len(start) < 4:
        return None
    pairs = len(start) // 2
    for encoding, zeros, others in (("utf-16-le", start[1::2], start[::2]), ("utf-16-be", start[::2], start[1::2])):
        if zeros.count(0) > 0.9 * pairs and others.count(0) == 0:
            return encoding
    return None


def _fits(head: bytes, encoding: str) -> bool:
    try:
        codecs.getincrementaldecoder(encoding)().decode(head)
    except UnicodeDecodeError:
        return False
    return True


class Recoded(io.RawIOBase):
    """A file in some encoding, read as UTF-8."""

    def __init__(self, file: BinaryIO, encoding: str, name: str) -> None:
        self._file = file
        self._encoding = encoding
        self._name = name
        self._decode: Callable[[bytes, bool], str] = codecs.getincrementaldecoder(encoding)().decode
        self._ready = b""

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fills the buffer as far as the next block of the file goes."""
        while not self._ready:
            block = self._file.read(BLOCK_BYTES)
            try:
                self._ready = self._decode(block, not block).encode()
            except UnicodeError:
                raise ValueError(f"{self._name} is not {self._encoding} text: give another --encoding") from None
            if not block:
                break
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def close(self) -> None:
        """Closes the file, too."""
        self._file.close()
        super().close()
