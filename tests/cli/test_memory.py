"""What a fit of a CSV file holds besides the program: its column, a packed copy, and the labels, twice at the end."""

import subprocess
import sys

import numpy as np
import pytest

MEGABYTE = 1 << 20
# VmHWM is of this process alone; ru_maxrss begins at the size of the one that started it.
PROGRAM = """
import atexit, re
from kmle.cli import main
atexit.register(lambda: print(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]))
main()
"""


def peak(path):
    # With three components standard errors, which have blocks of their own, are not computed for that many rows.
    command = [sys.executable, "-c", PROGRAM, "fit", str(path), "-k", "3", "--family", "gaussian"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return int(done.stdout.split()[-1]) * 1024


@pytest.fixture(scope="module")
def peak_of_few(tmp_path_factory):
    """What the program itself holds."""
    path = tmp_path_factory.mktemp("few") / "small.csv"
    path.write_text("x\n" + "\n".join(map(repr, np.random.default_rng(0).normal(size=1000).tolist())) + "\n")
    return peak(path)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads what Linux tells of a process")
@pytest.mark.parametrize("digits", [17, 5, 2])
def test_a_column_a_copy_and_labels(tmp_path, digits, peak_of_few):
    n = 2_000_000
    values = np.random.default_rng(0).normal(size=n) + 8 * (np.arange(n) % 3)
    text = "\n".join(map(repr, np.round(values, digits).tolist()))
    (tmp_path / "large.csv").write_text(f"x\n{text}\n")
    grown = peak(tmp_path / "large.csv") - peak_of_few
    assert grown < 3 * 8 * n + 16 * MEGABYTE, f"{grown / MEGABYTE:.0f} MB for a column of {8 * n / MEGABYTE:.0f} MB"
