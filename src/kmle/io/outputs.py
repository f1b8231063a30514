"""The only place where outputs are opened: nothing that is read is overwritten, and files are written atomically."""

import os
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

STANDARD_OUTPUT = "-"


def check_output(path: str | None) -> None:
    """Refuses, before any work is done, a path that cannot be written to."""
    if path is None or path == STANDARD_OUTPUT:
        return
    where = _followed(path)
    if where.is_dir():
        raise ValueError(f"{path} is a directory: give a file name")
    if not where.parent.is_dir():
        missing = where.parent if Path(path).is_symlink() else Path(path).parent
        raise ValueError(f"{path} cannot be written: the directory {missing} does not exist")
    if where.exists() and not os.access(where, os.W_OK):
        raise ValueError(f"{path} is write-protected: give another name")


def check_outputs(outputs: Mapping[str, str | None], inputs: Sequence[str | None] = (), *, force: bool = False) -> None:
    """Refuses outputs (paths by the options that name them) that would replace an input, each other or an old file.

    Old files may be replaced with `force`, inputs never.
    """
    named = {option: path for option, path in outputs.items() if path is not None}
    for option, path in named.items():
        check_output(path)
        _check_not_read(option, path, [name for name in inputs if name is not None])
    for option, path in named.items():
        _check_not_twice(option, path, named)
        if not force and path != STANDARD_OUTPUT and is_regular(path):
            raise ValueError(f"{option} {path}: the file exists; give another name, or --force to replace it")


def is_regular(path: str) -> bool:
    """Whether there is a file of the ordinary kind: not a device, not a pipe."""
    return _followed(path).is_file()


def _check_not_read(option: str, path: str, inputs: Sequence[str]) -> None:
    """Devices may be read and written at once; files and pipes may not."""
    where = _followed(path)
    if path == STANDARD_OUTPUT or not (where.is_file() or where.is_fifo()):
        return
    for name in inputs:
        if os.path.samestat(where.stat(), _status(name)):
            read = "standard input" if name == "-" else name
            raise ValueError(f"{option} {path} is the same file as the input {read}: give another name")


def _status(name: str) -> os.stat_result:
    if name == "-":
        with suppress(OSError, ValueError):
            return os.fstat(sys.stdin.fileno())
        return os.stat_result([0] * 10)
    return _followed(name).stat() if _followed(name).exists() else os.stat_result([0] * 10)


def _check_not_twice(option: str, path: str, named: Mapping[str, str]) -> None:
    for other, second in named.items():
        same = second == path if STANDARD_OUTPUT in (path, second) else _followed(second) == _followed(path)
        if other != option and same and not _is_special(_followed(path)):
            raise ValueError(f"{option} and {other} both name {path}: give them different names")


def _followed(path: str) -> Path:
    """Where a path margins through symbolic links, which are kept."""
    return Path(os.path.realpath(path))


def _is_special(where: Path) -> bool:
    """A device, a pipe or a socket: it is written to and stays what it is."""
    try:
        mode = where.stat().st_mode
    except FileNotFoundError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


@contextmanager
def opened_output(path: str, *, seekable: bool = False) -> Iterator[BinaryIO]:
    """A binary file to write an output to; what goes wrong is said in one sentence.

    "-" is standard output. A regular file takes the place of an old one when all is written; if anything fails the old
    one, or none, stays. A symbolic link stays, and so do devices and pipes, which are written to; for formats that need
    a `seekable` file they are given all at the end.
    """
    if path == STANDARD_OUTPUT:
        with said_of("standard output"):
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        return
    check_output(path)
    with said_of(path):
        where = _followed(path)
        opened = _special(where, seekable) if _is_special(where) else _beside(where)
        with opened as file:
            yield file


@contextmanager
def output_file(path: str) -> Iterator[str]:
    """The name of a file to write this output to, for writers that want a name; its content then goes to `path`."""
    import shutil
    import tempfile

    with said_of(path), tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / Path(path).name
        yield str(made)
        with made.open("rb") as content, opened_output(path) as file:
            shutil.copyfileobj(content, file)


@contextmanager
def said_of(name: str) -> Iterator[None]:
    """An error of the system while this output is written, as one sentence."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if "cannot be written" in str(error):
            raise
        reason = (error.strerror or str(error)).lower()
        raise OSError(error.errno, f"{name} cannot be written: {reason}") from None


@contextmanager
def _special(where: Path, seekable: bool) -> Iterator[BinaryIO]:
    """Never made, cut short or replaced: opened for writing only."""
    import shutil
    import tempfile

    with open(os.open(where, os.O_WRONLY | getattr(os, "O_NOCTTY", 0)), "wb") as file:
        if not seekable:
            yield file
            return
        with tempfile.TemporaryFile() as whole:
            yield whole
            whole.seek(0)
            shutil.copyfileobj(whole, file)


@contextmanager
def _beside(where: Path) -> Iterator[BinaryIO]:
    """A new file in the same directory, which takes the place of the old one at the end."""
    beside = where.with_name(f".{where.name[:200]}.{os.getpid()}")
    try:
        with beside.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if where.exists():
            _as_before(beside, where.stat())
        beside.replace(where)
    finally:
        beside.unlink(missing_ok=True)


def _as_before(beside: Path, old: os.stat_result) -> None:
    """The permissions and, where that is allowed, the owner of the file that is replaced."""
    new = beside.stat()
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with suppress(PermissionError):
            os.chown(beside, old.st_uid, old.st_gid)
    beside.chmod(stat.S_IMODE(old.st_mode))
