"""The pool of threads: callers share it, a forked child goes on, exceptions come through; also with ThreadSanitizer."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "cpp" / "pool.cpp"
HEADERS = Path(__file__).parents[2] / "src" / "kmle" / "cpp"
CHECKS = [
    "tasks_are_done_once",
    "two_callers_work_at_once",
    "many_callers_come_to_an_end",
    "calls_within_tasks",
    "exceptions_reach_the_caller",
    "children_go_on",
    "processors_stay_allowed",
]

# The programs have sanitizers of their own.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
ENVIRONMENT |= {"TSAN_OPTIONS": "die_after_fork=0"}

compiler = shutil.which(os.environ.get("CXX", "c++"))
pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the checks fork and ask for processors"),
    pytest.mark.skipif(compiler is None, reason="there is no C++ compiler"),
]


@pytest.fixture(autouse=True)
def version():
    """The pool does not depend on the instruction set: once is enough."""


@pytest.fixture(scope="module", params=["plain", "thread"])
def program(request, tmp_path_factory):
    """The checks, compiled as they are and with ThreadSanitizer."""
    out = tmp_path_factory.mktemp("pool") / "pool"
    options = ["-fsanitize=thread", "-g"] if request.param == "thread" else []
    command = [compiler, "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", *options]
    command += [f"-I{HEADERS}", str(SOURCE), "-o", str(out)]
    built = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    if built.returncode and options and "tsan" in built.stderr:
        pytest.skip("the compiler has no ThreadSanitizer")
    assert built.returncode == 0, built.stderr
    return out


def test_all_checks_are_run(program):
    assert subprocess.run([program], capture_output=True, text=True, env=ENVIRONMENT).stdout.split() == CHECKS


@pytest.mark.parametrize("check", CHECKS)
def test_the_pool(program, check):
    done = subprocess.run([program, check], capture_output=True, text=True, env=ENVIRONMENT, timeout=120)
    if "unexpected memory mapping" in done.stderr:
        pytest.skip("ThreadSanitizer does not run on this kernel")
    assert done.returncode == 0, done.stderr
