"""`python -m benchmarks.big_file`: fits files larger than memory with `kmle fit --stream`, and says what that takes.

A Parquet and an NPY file of the size asked for are written into a temporary directory, fitted by a process of their own
and deleted. Shown are the seconds a pass takes (the median time between two iterations) and the largest resident size.
"""

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kmle.io import write_batches

N_COLUMNS, N_COMPONENTS = 8, 6
BATCH_ROWS = 1 << 18
DEFAULT_GIGABYTES = 20.0
# How often the size of the process is looked up, in seconds.
INTERVAL = 0.05


@dataclass(frozen=True)
class Measured:
    """What one fit took."""

    gigabytes: float
    seconds: float
    seconds_per_pass: float
    peak_megabytes: float


def batches(gigabytes: float) -> Iterator[dict[str, Any]]:
    """Rows of a Gaussian mixture, all different, until they fill that many gigabytes."""
    rng = np.random.default_rng(0)
    means = rng.normal(scale=3.0, size=(N_COMPONENTS, N_COLUMNS))
    n_rows = int(gigabytes * 1e9 / (8 * N_COLUMNS))
    for start in range(0, n_rows, BATCH_ROWS):
        size = min(BATCH_ROWS, n_rows - start)
        rows = rng.standard_normal((size, N_COLUMNS)) + means[rng.integers(N_COMPONENTS, size=size)]
        yield {f"x{place}": rows[:, place] for place in range(N_COLUMNS)}


def measured(path: Path, algorithm: str, iterations: int) -> Measured:
    """Fits the file in a process of its own and watches it."""
    options = ["--family", "gaussian", "--algorithm", algorithm, "--max-iter", str(iterations), "--verbose"]
    command = [sys.executable, "-m", "kmle", "fit", str(path), "--stream", "-k", str(N_COMPONENTS), *options]
    began, times, message = time.perf_counter(), [], []
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        watch = Watch(process.pid)
        assert process.stderr is not None
        for line in process.stderr:
            message.append(line)
            if line.startswith("iteration "):
                times.append(time.perf_counter())
        peak = watch.stop()
    if process.returncode != 0:
        raise SystemExit("".join(message))
    gaps = np.diff([began, *times] if len(times) < 2 else times)
    return Measured(path.stat().st_size / 1e9, time.perf_counter() - began, statistics.median(gaps), peak)


class Watch:
    """Looks up the largest resident size of a process until told to stop; Linux keeps it for the living only."""

    def __init__(self, pid: int) -> None:
        self._status = Path(f"/proc/{pid}/status")
        self._peak = float("nan")
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def _look(self) -> None:
        while not self._stopped.wait(INTERVAL):
            try:
                found = re.search(r"VmHWM:\s+(\d+) kB", self._status.read_text())
            except OSError:
                return
            if found:
                self._peak = int(found[1]) * 1024 / 1e6

    def stop(self) -> float:
        """The largest size seen, in megabytes; not a number where the system does not tell."""
        self._stopped.set()
        self._thread.join()
        return self._peak


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.big_file", description=__doc__)
    parser.add_argument("--gigabytes", type=float, help=f"of each file; {DEFAULT_GIGABYTES:g} where the disk has room")
    parser.add_argument("--kinds", default="parquet,npy", help="formats to try, one after the other")
    parser.add_argument("--algorithm", default="k-mle", help="k-mle, hard-em, em, sparse-em or online")
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--directory", help="where the temporary directory is made")
    chosen = parser.parse_args(given)
    with tempfile.TemporaryDirectory(dir=chosen.directory) as folder:
        room = 0.8 * shutil.disk_usage(folder).free / 1e9
        gigabytes = min(DEFAULT_GIGABYTES, room) if chosen.gigabytes is None else chosen.gigabytes
        if gigabytes > room:
            parser.error(f"the disk has room for {room:.1f} gigabytes, not for {gigabytes:g}")
        for kind in chosen.kinds.split(","):
            path = Path(folder) / f"rows.{kind}"
            write_batches(str(path), batches(gigabytes))
            result = measured(path, chosen.algorithm, chosen.iterations)
            path.unlink()
            print(
                f"{kind}: {result.gigabytes:.2f} GB, {chosen.algorithm}, k = {N_COMPONENTS}: "
                f"{result.seconds_per_pass:.1f} s a pass, {result.seconds:.1f} s in all, "
                f"peak memory {result.peak_megabytes:.0f} MB",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
