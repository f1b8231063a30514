"""Without a number, a fit takes as many threads as scikit-learn's own OpenMP code would."""

import os
import subprocess
import sys

import pytest
from joblib import Parallel, delayed, parallel_config
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from threadpoolctl import threadpool_limits

from kmle.estimators import arguments
from kmle.estimators.arguments import threads_of

ALONE = """
import sys
from kmle.estimators.arguments import threads_of
print(threads_of(None), "sklearn" in sys.modules)
"""


def alone(limit):
    """What a process says that has not loaded scikit-learn."""
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    environment |= {} if limit is None else {"OMP_NUM_THREADS": limit}
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, env=environment, check=True)
    return done.stdout.split()


def test_as_many_as_scikit_learn():
    assert threads_of(None) == _openmp_effective_n_threads()


def test_a_limit_on_openmp_holds():
    with threadpool_limits(limits=1, user_api="openmp"):
        assert threads_of(None) == 1
        assert threads_of(3) == 3


@pytest.mark.parametrize(("limit", "expected"), [("1", "1"), ("3", "3"), ("2,4", "2")])
def test_the_environment_limits_threads_without_scikit_learn(limit, expected):
    assert alone(limit) == [expected, "False"]


@pytest.mark.parametrize("limit", [None, "", "many", "0"])
def test_without_a_limit_it_is_all_arguments(limit):
    assert alone(limit) == [str(arguments.available_cores()), "False"]


def test_workers_of_loky_take_the_threads_they_are_given():
    with parallel_config(backend="loky", inner_max_num_threads=1):
        assert Parallel(n_jobs=2)(delayed(threads_of)(None) for _ in range(2)) == [1, 1]


@pytest.mark.parametrize(
    ("text", "expected"), [("max 100000", None), ("150000 100000", 2), ("100000 100000", 1), ("", None)]
)
def test_quota_of_a_container(text, expected, tmp_path, monkeypatch):
    file = tmp_path / "cpu.max"
    file.write_text(text)
    monkeypatch.setattr(arguments, "CPU_QUOTA", file)
    assert arguments.quota() == expected
    assert arguments.available_cores() >= 1


def test_all_arguments_and_all_but_one():
    assert threads_of(-1) == arguments.available_cores()
    assert threads_of(-2) == max(1, arguments.available_cores() - 1)
