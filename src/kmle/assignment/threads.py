"""Blocks of rows shared between threads, where NumPy does the work and lets others run meanwhile."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


def for_each(work: Callable[[Item], None], items: Iterable[Item], n_threads: int) -> None:
    """Calls work(item) for every item, on so many threads; what an item writes, no other may touch."""
    listed = list(items)
    if n_threads == 1 or len(listed) == 1:
        for item in listed:
            work(item)
        return
    with ThreadPoolExecutor(min(n_threads, len(listed))) as pool:
        for _ in pool.map(work, listed):
            pass  # what a thread raised is raised here
