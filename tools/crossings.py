"""How many files and levels of calls a fit crosses: what a newcomer has to read to follow it.

    python tools/crossings.py          KMLE(3, n_init=1).fit(X), and `kmle fit` of a small table

A file counts once a function of it is called; levels are the calls of kmle's own functions that are open at a time.
"""

import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import kmle
from kmle.__main__ import main as command

ROOT = str(Path(kmle.__file__).parent) + os.sep


def crossed(function: Callable[[], Any]) -> tuple[list[str], int]:
    """The files whose functions are called, and the deepest level."""
    files: set[str] = set()
    level = deepest = 0

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal level, deepest
        code = frame.f_code
        # Modules that are loaded on the way, and comprehensions, are not calls that a reader follows.
        if not code.co_filename.startswith(ROOT) or code.co_name.startswith("<"):
            return
        if event == "call":
            files.add(code.co_filename.removeprefix(ROOT))
            level += 1
            deepest = max(deepest, level)
        elif event == "return":
            level -= 1

    sys.setprofile(watch)
    try:
        function()
    finally:
        sys.setprofile(None)
    return sorted(files), deepest


def fit_by_estimator() -> None:
    X = np.random.default_rng(0).normal(size=(300, 2))
    kmle.KMLE(3, n_init=1, random_state=0).fit(X)


def fit_by_command() -> None:
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table.csv"
        rows = np.random.default_rng(0).normal(size=(300, 2))
        np.savetxt(table, rows, delimiter=",", header="a,b", comments="")
        arguments, sys.argv = sys.argv, ["kmle", "fit", str(table), "-k", "3"]
        try:
            with suppress(SystemExit):
                command()
        finally:
            sys.argv = arguments


def main() -> None:
    for name, function in (("KMLE(3, n_init=1).fit(X)", fit_by_estimator), ("kmle fit table.csv -k 3", fit_by_command)):
        function()  # loads what it needs
        files, levels = crossed(function)
        print(f"{name}: {len(files)} files, {levels} levels")
        if "-v" in sys.argv:
            print("\n".join(f"    {file}" for file in files))


if __name__ == "__main__":
    main()
