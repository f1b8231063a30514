"""Which version of the kernels serves: the compiled module where it was built, NumPy where it was not."""

import warnings
from functools import cache
from types import ModuleType

_forced: str | None = None
_found: ModuleType | None
try:
    from . import _compiled as _found
except ImportError:
    _found = None


class _Selected:
    """The compiled module while it serves, for kernels whose callers do without it otherwise."""

    module: ModuleType | None = _found


selected = _Selected()


def backend() -> str:
    """ "compiled" or "numpy"."""
    return "numpy" if _found is None or _forced == "numpy" else "compiled"


def instruction_set() -> str:
    """The instruction set of the compiled kernels in use: "baseline", "avx2" or "avx512"; "none" without them."""
    return "none" if _found is None or _forced == "numpy" else _found.instruction_set()


def versions() -> list[str]:
    """Every version this installation can run: "numpy", and the instruction sets of this machine."""
    return ["numpy"] if _found is None else ["numpy", *_found.instruction_sets()]


def use(version: str | None) -> None:
    """Makes one of `versions` serve rows packed from now on; None goes back to the best."""
    global _forced
    if version is not None and version not in versions():
        raise ValueError(f"unknown version {version!r}: choose one of {', '.join(versions())}")
    _forced = "numpy" if version == "numpy" else None
    selected.module = None if version == "numpy" else _found
    if _found is not None:
        _found.use_instruction_set(_found.instruction_sets()[-1] if version in (None, "numpy") else version)


def compiled_module() -> ModuleType | None:
    """The compiled module if it serves, with a single warning when it is missing."""
    if _found is None:
        _warn_once()
    return selected.module


@cache
def _warn_once() -> None:
    warnings.warn(
        "kmle's compiled kernels are missing, so slower NumPy versions with the same results are used; "
        "reinstall with a C++ compiler on PATH to get them.",
        RuntimeWarning,
        stacklevel=4,
    )
