"""The installed package: its modules, found as files so that nothing is imported to find them, and how to run it."""

from pathlib import Path

import kmle

ROOT = Path(kmle.__file__).parent
PROJECT = Path(__file__).parents[1]
# Warnings are errors in what tests run as a process, too, but for the one that says there was no compiler.
STRICTLY = ("-W", "error", "-W", "ignore:kmle's compiled kernels are missing:RuntimeWarning")


def module_files() -> dict[str, Path]:
    """Every module of kmle by its dotted name."""
    return {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
