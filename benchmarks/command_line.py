"""`kmle fit` on a big CSV file against reading it by polars, both as processes: `python -m benchmarks.command_line`.

Each process is timed from its start to its end, imports included, and in turn, so that both meet the same load. Peaks
are the largest resident sizes the system saw. (On Linux they begin at the size of this process, which is kept small.)
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

MEANS, DEVIATIONS, SHARES = (-4.0, 0.0, 5.0), (1.0, 0.7, 1.5), (0.5, 0.3, 0.2)
ROWS_A_PIECE = 100_000
UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True)
class Run:
    """One process: seconds on the clock, seconds of processors, the largest size in bytes."""

    seconds: float
    work: float
    peak: int


@dataclass(frozen=True)
class Comparison:
    """All runs of both."""

    rows: int
    polars: list[Run]
    kmle: list[Run]

    @property
    def ratio(self) -> float:
        """Median time of kmle over that of polars."""
        return median(self.kmle, "seconds") / median(self.polars, "seconds")

    def __str__(self) -> str:
        column = 8 * self.rows
        lines = [f"{self.rows} rows, a column of {column / 1e6:.0f} MB; medians of {len(self.kmle)} runs in turn"]
        for name, runs in (("polars.read_csv", self.polars), ("kmle fit", self.kmle)):
            peak = max(run.peak for run in runs)
            lines.append(
                f"{name:16} {median(runs, 'seconds'):6.2f} s, {median(runs, 'work'):6.2f} s of processors, "
                f"peak {peak / 1e6:4.0f} MB = {peak / column:.2f} columns"
            )
        work = median(self.kmle, "work") / median(self.polars, "work")
        lines.append(f"kmle / polars    {self.ratio:6.2f} on the clock, {work:.2f} of processors")
        return "\n".join(lines)


def median(runs: list[Run], name: str) -> float:
    return statistics.median(getattr(run, name) for run in runs)


def write_csv(path: Path, n: int) -> None:
    """A column of a mixture of three Gaussians, all digits written, piece by piece."""
    rng = np.random.default_rng(0)
    with path.open("w", encoding="ascii") as file:
        file.write("x\n")
        for start in range(0, n, ROWS_A_PIECE):
            own = rng.choice(len(SHARES), min(ROWS_A_PIECE, n - start), p=SHARES)
            values = rng.normal(np.array(MEANS)[own], np.array(DEVIATIONS)[own])
            file.write("\n".join(map(repr, values.tolist())) + "\n")


def run(command: list[str]) -> Run:
    """A process from its start to its end."""
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} failed")
    return Run(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * UNIT)


def compare(n: int, repeats: int) -> Comparison:
    """Both commands in turn, after one run of each that does not count."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "column.csv"
        write_csv(path, n)
        read = [sys.executable, "-c", "import sys, polars; polars.read_csv(sys.argv[1])", str(path)]
        fit = [sys.executable, "-m", "kmle", "fit", str(path), "-k", str(len(MEANS)), "--family", "gaussian"]
        runs = [(run(read), run(fit)) for _ in range(repeats + 1)][1:]
    return Comparison(n, [own for own, _ in runs], [own for _, own in runs])


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.command_line", description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=7)
    chosen = parser.parse_args(arguments)
    before = os.getloadavg()[0]
    print(compare(chosen.rows, chosen.repeats))
    print(f"load of the machine: {before:.1f} before, {os.getloadavg()[0]:.1f} after")


if __name__ == "__main__":
    main()
