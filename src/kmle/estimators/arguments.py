"""Small checks and conversions of what users pass to an estimator."""

import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def weights_of(sample_weight: ArrayLike | None, n_rows: int) -> ArrayLike | None:
    """A single number stands for that weight on every row."""
    return np.full(n_rows, float(sample_weight)) if isinstance(sample_weight, int | float) else sample_weight


def entropy_of(random_state: Any) -> Any:
    """What seeds a NumPy generator: scikit-learn's kinds of random_state, or a Generator."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return random_state
    try:
        return _random_state(random_state).randint(0, 2**31 - 1, size=4).tolist()
    except ValueError:
        raise ValueError(
            f"random_state is {random_state!r}: it must be None, a whole number from 0 to 2**32 - 1, or a generator"
        ) from None


def seed_again(seed: np.random.SeedSequence) -> np.random.SeedSequence:
    """A seed that gives the same draws, and the same children, as this one did before anything was drawn."""
    return np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key, pool_size=seed.pool_size)


def _random_state(random_state: Any) -> Any:
    if isinstance(random_state, int | np.integer):
        return np.random.RandomState(random_state)  # as scikit-learn makes of it, without loading that
    from sklearn.utils import check_random_state

    return check_random_state(random_state)


def threads_of(n_jobs: int | None) -> int:
    """How many threads `n_jobs` asks for; None is as many as scikit-learn's own OpenMP code would use."""
    if n_jobs is None:
        return default_threads()
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise ValueError(f"n_jobs is {n_jobs!r}: it must be None, a positive number, or -1 (all cores)")
    return int(n_jobs) if n_jobs > 0 else max(1, available_cores() + 1 + int(n_jobs))


def reporter(verbose: int, restart: int, n_init: int) -> Any:
    """A progress line on stderr with the iteration and the objective; None when not asked for."""
    if not verbose:
        return None
    prefix = f"start {restart + 1} of {n_init}, " if n_init > 1 else ""

    def report(iteration: int, objective: float) -> None:
        live = sys.stderr.isatty()
        if live or iteration % 10 == 1 or verbose > 1:
            ending = "\r" if live else "\n"
            print(f"{prefix}iteration {iteration}: objective {objective:.6f}", end=ending, file=sys.stderr, flush=True)

    return report


# Threads --------------------------------------------------------------------------------------------------------------

CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def default_threads() -> int:
    """As many threads as scikit-learn's own OpenMP code would use: all cores, or fewer where there are limits.

    Limits are OMP_NUM_THREADS, which workers of loky and Dask have too, and those of threadpoolctl on OpenMP. It sees
    only libraries, not the threads of kmle, so OpenMP is asked; but scikit-learn is not loaded only for that.
    """
    if "sklearn" in sys.modules:
        from sklearn.utils import _openmp_helpers

        if _openmp_helpers._openmp_parallelism_enabled():
            return int(_openmp_helpers._openmp_effective_n_threads())
    return openmp_limit() or available_cores()


def openmp_limit() -> int | None:
    """What OMP_NUM_THREADS says of the outermost level; None where it says nothing."""
    outermost = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(outermost) if outermost.isdecimal() and int(outermost) > 0 else None


def available_cores() -> int:
    """The cores this process may use, by its affinity and by the quota of its container."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, quota() or cores))


def quota() -> int | None:
    """How many cores a container has, rounded up; None where it has no limit."""
    try:
        share, period = CPU_QUOTA.read_text().split()
    except (OSError, ValueError):
        return None
    return None if share == "max" else math.ceil(int(share) / int(period))


def distinct_names(columns: Sequence[str] | None) -> Sequence[str] | None:
    """Names that tell columns apart."""
    return None if columns is None or len(set(columns)) < len(columns) else columns
