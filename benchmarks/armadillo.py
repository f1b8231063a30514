"""Armadillo's `gmm_full`, compiled on the fly where its headers are found.

Headers and libraries outside the usual places are found by CPLUS_INCLUDE_PATH, LIBRARY_PATH and LD_LIBRARY_PATH.
"""

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from .competitors import Array

SOURCE = Path(__file__).with_name("armadillo.cpp")
COMPILER = "g++"
FLAGS = ["-O3", "-march=native", "-fopenmp", "-std=c++17", "-shared", "-fPIC"]
# With Armadillo's own library, or straight to a LAPACK.
LIBRARIES = [
    ["-larmadillo"],
    ["-DARMA_DONT_USE_WRAPPER", "-lopenblas"],
    ["-DARMA_DONT_USE_WRAPPER", "-llapack", "-lblas"],
]


@dataclass(frozen=True)
class Learned:
    """What came out of a fit."""

    seconds: float
    iterations: int
    weights: Array
    means: Array
    covariances: Array


@cache
def why_missing() -> str | None:
    """Why Armadillo cannot be used here, or None."""
    if shutil.which(COMPILER) is None:
        return f"no compiler ({COMPILER})"
    check_chunks = subprocess.run(
        [COMPILER, "-E", "-x", "c++", "-"], input="#include <armadillo>", text=True, capture_output=True
    )
    return None if check_chunks.returncode == 0 else "headers not installed"


@cache
def compiled() -> Callable[..., Learned]:
    """The function that fits, from a library built for this run."""
    target = Path(tempfile.mkdtemp(prefix="benchmarks-")) / "armadillo_peer.so"
    for libraries in LIBRARIES:
        built = subprocess.run(
            [COMPILER, *FLAGS, str(SOURCE), *libraries, "-o", str(target)], capture_output=True, text=True
        )
        if built.returncode == 0:
            break
    else:
        raise RuntimeError(f"Armadillo's headers are here but the program does not link: {built.stderr.strip()[-200:]}")
    function = ctypes.CDLL(str(target)).learn
    function.restype = ctypes.c_int

    def learn(
        X: Array,
        weights: Array,
        means: Array,
        covariances: Array,
        max_iter: int,
        tol: float,
        floor: float,
        threads: int,
    ) -> Learned:
        n, d = X.shape
        w, m, c = (np.array(part, dtype=float, order="C") for part in (weights, means, covariances))
        seconds = ctypes.c_double()
        iterations = function(
            pointer(X), ctypes.c_longlong(n), d, len(w), pointer(w), pointer(m), pointer(c), max_iter,
            ctypes.c_double(tol), ctypes.c_double(floor), threads, ctypes.byref(seconds),
        )  # fmt: skip
        if iterations < 0:
            raise RuntimeError("gmm_full reports that learning failed")
        return Learned(seconds.value, iterations, w, m, c)

    return learn


def pointer(array: Array) -> Any:
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
