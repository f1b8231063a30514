"""Settings for all tests: the same draws on every run, no time limit on a busy machine, and which tests are slow."""

import gc
import os

import pytest
from hypothesis import settings

# Workers of Dask's clusters start from a process that has loaded Dask.
os.environ.setdefault("DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD", "forkserver")
# Tests are collected into a hundred thousand objects that stay: there is nothing to look for among them.
gc.disable()

settings.register_profile("deterministic", derandomize=True, deadline=None)
settings.load_profile("deterministic")

# Files and folders whose tests take most of the time: `pytest -m "not slow"` leaves them out.
SLOW = (
    "algorithms/test_fixed_points",
    "algorithms/test_invariance",
    "algorithms/test_memory",
    "algorithms/test_monotone",
    "algorithms/test_numerics",
    "algorithms/test_truth",
    "benchmarks/",
    "cli/test_defaults",
    "cli/test_memory",
    "cli/test_outputs",
    "cli/test_process",
    "cli/test_stream",
    "documentation/test_code",
    "documentation/test_site",
    "engines/test_panels",
    "estimators/test_plugged_in",
    "estimators/test_resolution",
    "estimators/test_scikit_learn",
    "estimators/test_select",
    "estimators/test_single_precision",
    "estimators/test_twins",
    "explorer/",
    "families/test_student_t",
    "identities/",
    "images/",
    "io/test_streaming",
    "kernels/",
    "plotting/test_fit",
    "problem/test_checkpoints",
    "problem/test_dask",
    "problem/test_streams",
    "report/",
    "selection/test_merging",
    "selection/test_simplification",
    "test_readme",
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks the tests of slow files."""
    tests = config.rootpath / "tests"
    for item in items:
        if item.path.is_relative_to(tests) and item.path.relative_to(tests).as_posix().startswith(SLOW):
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """From here on garbage is collected, but not sought among what was there before."""
    gc.freeze()
    gc.enable()
