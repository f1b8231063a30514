"""Peak memory of one contestant, in a process of its own, which the harness starts.

The largest resident size during preparation and fit minus the size before, when the data was loaded and everything
imported, in megabytes. Data converted to the contestant's own type counts as its memory. On Linux the largest size is
VmHWM, set back before the fit; elsewhere ru_maxrss. (On Linux ru_maxrss begins at the size of the parent process.)
"""

import json
import re
import resource
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np

from kmle import Mixture

from .competitors import Task
from .harness import CONTESTANTS, WARM_UP_ROWS, quietly

STATUS = Path("/proc/self/status")
UNIT = 1 if sys.platform == "darwin" else 1024


def peak() -> int:
    """The largest resident size of this process so far, in bytes."""
    found = re.search(r"VmHWM:\s+(\d+) kB", STATUS.read_text()) if STATUS.exists() else None
    return int(found[1]) * 1024 if found else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT


def forget_peak() -> None:
    """Sets the largest size back to the present one, where the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def main(name: str, folder: str, iterations: str, threads: str, kind: str) -> None:
    start = Mixture.from_json((Path(folder) / "start.json").read_text(encoding="utf-8"))
    task = Task(np.load(Path(folder) / "rows.npy"), start, int(threads), kind == "k-means")
    prepare = CONTESTANTS[name].prepare
    with quietly(task.n_threads):
        try:
            prepare(task.first_rows(WARM_UP_ROWS))(2, 0.0)
        except Exception as error:  # peers fail in ways of their own on so few rows, and not on all
            print(f"the warm-up failed: {error}", file=sys.stderr)
        forget_peak()
        before = peak()
        prepare(task)(int(iterations), 0.0)
        print(json.dumps((peak() - before) / 1e6))


if __name__ == "__main__":
    main(*sys.argv[1:])
