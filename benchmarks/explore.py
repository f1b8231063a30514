"""`kmle explore` in a browser: how long until a change of k is seen, what it costs, and does memory grow?

    python -m benchmarks.explore [--rows 100000] [--changes 500]

Chromium and its driver are needed, and Linux. A change is timed in the page, from the event of the slider until the
frame after the plot is drawn. Changes come one by one, each after all work for the one before it has ended ("alone"),
and each as soon as the first fit of the one before it is seen ("in a row"). Processor time is that of the server and of
the browser together.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from kmle.numerics.arrays import Array

COMPONENTS = range(2, 13)
PATIENCE = 120.0
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1400,1000")
# Notes when an answer was drawn, and when it was painted, in milliseconds since its request.
WATCH = """
window.seen = [];
window.waiting = [];
window.noteState = () => {
  const { details } = document.documentElement.dataset;
  window.waiting = window.waiting.filter(({ after, stages, done }) => {
    const all = [...window.seen, { number: Number(details), stage: "details", painted: 0 }];
    const note = all.find(({ number, stage }) => number > after && stages.includes(stage));
    if (note) done(note.painted);
    return !note;
  });
};
new MutationObserver((changes) => {
  if (changes.some(({ attributeName }) => attributeName === "data-details")) window.noteState();
  if (!changes.some(({ attributeName }) => attributeName === "data-milliseconds")) return;
  const { shown, stage, milliseconds } = document.documentElement.dataset;
  const sent = performance.now() - Number(milliseconds);
  requestAnimationFrame(() => setTimeout(() => {
    window.seen.push({ number: Number(shown), stage, painted: performance.now() - sent });
    window.noteState();
  }));
}).observe(document.documentElement, { attributes: true, attributeFilter: ["data-milliseconds", "data-details"] });
"""
WAIT = """
const [after, stages, done] = arguments;
window.waiting.push({ after, stages, done });
window.noteState();
"""
CHANGE = """
const slider = document.getElementById("k");
slider.value = arguments[0];
slider.dispatchEvent(new Event("input", { bubbles: true }));
"""
VIEW = """
const list = document.getElementById("view");
list.value = list.options[arguments[0]].value;
list.dispatchEvent(new Event("change"));
"""


def table(n: int, seed: int = 0) -> Array:
    """Rows of six overlapping Gaussians in three columns."""
    rng = np.random.default_rng(seed)
    centers = rng.uniform(-5, 5, (6, 3))
    return np.asarray(centers[rng.integers(0, 6, n)] + rng.normal(size=(n, 3)))


@dataclass
class Driven:
    """A server, a browser that shows its page, and what both use."""

    browser: Any
    server: int
    driver: int

    def script(self, code: str, *given: Any) -> Any:
        """What a script in the page returns."""
        return self.browser.execute_script(code, *given)

    def shown(self) -> int:
        """The number of the answer that is drawn."""
        return int(self.script("return document.documentElement.dataset.shown") or 0)

    def noted(self, after: int, *stages: str) -> float:
        """Milliseconds until an answer that is newer and of one of these stages was painted, once it is."""
        return float(self.browser.execute_async_script(WAIT, after, stages))

    def settle(self, after: int) -> None:
        """Waits for the fit to all rows and its diagnostics."""
        self.noted(after, "details")

    def seconds(self) -> float:
        """Processor time that server and browser have used."""
        return sum(seconds for _, seconds in processes((self.server, self.driver)))

    def memory(self) -> tuple[float, float, int, int]:
        """Megabytes of the server and of script objects, and the nodes and listeners of the page, without garbage."""
        for _ in range(2):
            self.browser.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
        heap = self.browser.execute_cdp_cmd("Runtime.getHeapUsage", {})["usedSize"]
        counted = self.browser.execute_cdp_cmd("Memory.getDOMCounters", {})
        pages = int(Path(f"/proc/{self.server}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6, heap / 1e6, counted["nodes"], counted["jsEventListeners"]


def processes(roots: tuple[int, ...]) -> list[tuple[int, float]]:
    """The processes that descend from some, and the processor time of each."""
    tick = os.sysconf("SC_CLK_TCK")
    found: dict[int, tuple[int, float]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parts = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        found[int(path.parent.name)] = int(parts[1]), (int(parts[11]) + int(parts[12])) / tick
    family = set(roots)
    while more := {pid for pid, (parent, _) in found.items() if parent in family} - family:
        family |= more
    return [(pid, found[pid][1]) for pid in family if pid in found]


@contextmanager
def driven(rows: Array) -> Iterator[Driven]:
    """A page for the rows, in a browser."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium") or shutil.which("google-chrome"))
    for flag in FLAGS:
        options.add_argument(flag)
    service = Service(shutil.which("chromedriver"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        np.save(path, rows)
        command = [sys.executable, "-u", "-m", "kmle", "explore", str(path), "--no-browser"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split()[-1]
            browser = webdriver.Chrome(options=options, service=service)
            try:
                browser.get(address)
                page = Driven(browser, server.pid, service.process.pid)
                browser.set_script_timeout(PATIENCE)
                page.script(WATCH)
                page.settle(0)
                yield page
            finally:
                browser.quit()
        finally:
            server.kill()
            server.wait()


def changes(page: Driven, alone: bool) -> tuple[list[float], list[float], list[float]]:
    """Milliseconds until each change is seen, until all rows are fitted, and of processor time, over all k."""
    first, whole, spent = [], [], []
    for k in COMPONENTS:
        before, used = page.shown(), page.seconds()
        page.script(CHANGE, k)
        first.append(page.noted(before, "sample", "early", "all"))
        if alone:
            whole.append(page.noted(before, "all"))
            page.settle(before)
            spent.append(1e3 * (page.seconds() - used))
    page.settle(before)
    return first, whole, spent


def response(rows: Array, runs: int) -> None:
    """A table of all views: milliseconds of each change."""
    n, d = rows.shape
    print(f"\n{n:,} x {d}, k from {COMPONENTS[0]} to {COMPONENTS[-1]}, {runs} runs, milliseconds\n")
    print("| view | changes | first fit, median | slowest | all rows, median | slowest | processor time, median |")
    print("|---|---|---|---|---|---|---|")
    with driven(rows) as page:
        names = page.script("return [...document.getElementById('view').options].map((each) => each.textContent)")
        for place in (0, 1, len(names) - 1):
            before = page.shown()
            page.script(VIEW, place)
            page.settle(before)
            for alone in (True, False):
                turns = [changes(page, alone) for _ in range(runs)]
                first, whole, spent = (list(chain.from_iterable(parts)) for parts in zip(*turns, strict=True))
                cells = [f"{np.median(first):.0f}", f"{max(first):.0f}"]
                cells += (
                    [f"{np.median(whole):.0f}", f"{max(whole):.0f}", f"{np.median(spent):.0f}"] if alone else [""] * 3
                )
                how = "alone" if alone else "in a row"
                print(f"| {names[place]} | {how} | {' | '.join(cells)} |", flush=True)


def memory(rows: Array, n_changes: int) -> None:
    """What server and page hold while k changes, each time at the same k."""
    print(f"\nMemory over {n_changes} changes, {len(rows):,} rows\n")
    print("| changes | server, MB | page, MB | nodes | listeners |\n|---|---|---|---|---|")
    with driven(rows) as page:
        for turn in range(n_changes + 1):
            before = page.shown()
            if turn % max(n_changes // 10, 1) == 0:
                page.script(CHANGE, COMPONENTS[-1])
                page.settle(before)
                server, heap, nodes, listeners = page.memory()
                print(f"| {turn} | {server:.0f} | {heap:.2f} | {nodes} | {listeners} |", flush=True)
                before = page.shown()
            page.script(CHANGE, COMPONENTS[turn % len(COMPONENTS)])
            page.noted(before, "sample", "early", "all")


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.explore", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=3, help="times that k goes through its values")
    parser.add_argument("--changes", type=int, default=0, help="measure memory over this number of changes instead")
    chosen = parser.parse_args(given)
    if chosen.changes:
        memory(table(chosen.rows), chosen.changes)
    else:
        response(table(chosen.rows), chosen.runs)


if __name__ == "__main__":
    main()
