"""How many threads a fit takes where no number is given."""

import math
import os
import sys
from pathlib import Path

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
