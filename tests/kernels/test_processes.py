"""Passes beside forks, and out of memory: parent and child go on, and Python is told."""

import os
import subprocess
import sys
import threading
import time
import warnings
from itertools import cycle

import numpy as np
import pytest

from kmle._kernels import Clusters, PackedRows
from kmle._kernels.backend import compiled_module
from kmle.engines.panels.kernel import PanelsRows
from kmle.engines.sorted.kernel import Buckets, SortedRows

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
# The memory of AddressSanitizer has locks of its own, which a fork may copy.
without_address = pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="AddressSanitizer cannot fork")


def dense(n=60_000):
    """A pass over rows that two threads share."""
    x = np.random.default_rng(0).normal(size=(n, 3))
    rows = PackedRows(n, 3, "quadratic", n_threads=2)
    rows.load(0, x)
    natural = np.random.default_rng(1).normal(size=(8, rows.n_statistics)) * 0.1
    clusters = Clusters.empty(n, 8, rows.n_statistics)
    return lambda: rows.hard_pass(natural, np.zeros(8), clusters)


def along_a_line(n=200_000):
    """Passes along a line that put other runs in order every time."""
    line = np.sort(np.random.default_rng(0).normal(size=n))
    packed = PackedRows(n, 1, n_threads=2)
    packed.load(0, line[:, None])
    rows = SortedRows(packed, line, Buckets.of_sorted(n))
    means = cycle(np.random.default_rng(1).normal(size=(500, 9, 1)))  # a generator has a lock that a fork may copy

    def run():
        mean = next(means)
        rows.hard_pass(mean, -0.5 * mean[:, 0] ** 2)

    return run


def panels(n=20_000):
    """A pass over rows of many columns."""
    rows = PanelsRows(n, 20, 2)
    rows.load(0, np.random.default_rng(0).normal(size=(n, 20)))
    labels = np.full(n, -1, dtype=np.int32)
    shifts = np.random.default_rng(1).normal(size=(5, 20))
    return lambda: rows.hard_pass(np.tile(np.eye(20), (5, 1, 1)), shifts, np.zeros(5), labels)


def ends_soon(child):
    """Whether a child ends well within ten seconds."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status == 0
        time.sleep(0.002)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return False


@needs_fork
@without_address
@pytest.mark.parametrize("make", [dense, along_a_line, panels])
def test_children_forked_during_a_pass_go_on(make, version):
    if compiled_module() is None:
        pytest.skip("NumPy's passes share no pool")
    run, stop = make(), threading.Event()

    def keep_running():
        while not stop.is_set():
            run()

    busy = threading.Thread(target=keep_running)
    busy.start()
    try:
        for _ in range(10):
            time.sleep(0.003)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # forking beside threads is what this is about
                child = os.fork()
            if child == 0:
                try:
                    run()  # over the very rows that the parent works on
                except BaseException:
                    os._exit(1)
                os._exit(0)
            assert ends_soon(child)
    finally:
        stop.set()
        busy.join()
    run()


OUT_OF_MEMORY = """
import resource, sys
import numpy as np
from kmle import _kernels as kernels

kernels.use(sys.argv[1])
n = 4_000_000
row = np.zeros((1, n))
table = np.broadcast_to(row, (4, n))  # a task for each row, each with room for all columns
kernels.squares(table[:, :1000], np.zeros(1000), 2)
with open("/proc/self/statm") as file:
    now = int(file.read().split()[0]) * resource.getpagesize()
# Room for the results of all tasks, the origin and the totals, but not for what a task needs.
resource.setrlimit(resource.RLIMIT_AS, (now + 8 * n * 6 + (40 << 20), resource.RLIM_INFINITY))
try:
    kernels.squares(table, np.zeros(n), 2)
except MemoryError:
    print("out of memory")
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(kernels.squares(np.full((100_000, 3), 2.0), np.zeros(3), 2).tolist())
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs to know how much memory is taken")
@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="sanitizers take memory of their own")
def test_running_out_of_memory_within_a_task_is_told(version):
    if compiled_module() is None:
        pytest.skip("NumPy's passes have no tasks")
    done = subprocess.run([sys.executable, "-c", OUT_OF_MEMORY, version], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == ["out of memory", "[400000.0, 400000.0, 400000.0]"]


def test_the_missing_module_warns_once():
    code = """
import sys, warnings
sys.modules["kmle._kernels._compiled"] = None
import numpy as np
from kmle import _kernels as kernels
assert kernels.backend() == "numpy"
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(3):
        kernels.PackedRows(1, 1)
assert len(caught) == 1, caught
assert "compiled kernels are missing" in str(caught[0].message)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


WHERE_THREADS_MAY_RUN = """
import os, time, numpy as np
from pathlib import Path
from kmle import _kernels as kernels
kernels.use({version!r})
packed = kernels.PackedRows(40_000, 2, n_threads=2)
packed.load(0, np.zeros((40_000, 2)))
for _ in range(40):
    time.sleep(0.002)  # helpers that slept are the ones that wake beside their caller
    packed.totals()
told = [Path(f"/proc/self/task/{task}/status").read_text() for task in os.listdir("/proc/self/task")]
print(len({text.split("Cpus_allowed:")[1].split()[0] for text in told}))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux tells where threads may run")
def test_helpers_that_make_way_may_run_everywhere_again(version):
    code = WHERE_THREADS_MAY_RUN.replace("{version!r}", repr(version))
    message = subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, capture_output=True, timeout=60)
    assert message.stdout == b"1\n"
