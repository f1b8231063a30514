"""Blocks of rows shared between threads, where NumPy does the work and lets others run meanwhile."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")

# Threads are slow to start: each is to have so many blocks of rows at least.
BLOCKS_A_THREAD = 12


def for_each(
    work: Callable[[Item], None], items: Iterable[Item], n_threads: int, items_a_thread: int = BLOCKS_A_THREAD
) -> None:
    """Calls work(item) for every item, on so many threads at most; what an item writes, no other may touch."""
    listed = list(items)
    threads = min(n_threads, len(listed) // items_a_thread)
    if threads < 2:
        for item in listed:
            work(item)
        return
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(work, listed):
            pass  # what a thread raised is raised here
