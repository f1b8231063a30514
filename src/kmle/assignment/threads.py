"""Blocks of rows shared between threads, where NumPy does the work and lets others run meanwhile."""

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")

# Threads are slow to start: each is to have so many blocks of rows at least.
BLOCKS_A_THREAD = 4


def for_each(
    work: Callable[[Item], None], items: Iterable[Item], n_threads: int, items_a_thread: int = BLOCKS_A_THREAD
) -> None:
    """Calls work(item) for every item, on so many threads at most; what an item writes, no other may touch."""
    left = deque(items)
    threads = min(n_threads, len(left) // items_a_thread)

    # Each thread takes the next item that is left: handing out every item by itself would cost more than small ones.
    def take_items() -> None:
        while True:
            try:
                item = left.popleft()
            except IndexError:
                return
            work(item)

    if threads < 2:
        take_items()
        return
    with ThreadPoolExecutor(threads - 1) as pool:
        helpers = [pool.submit(take_items) for _ in range(threads - 1)]
        take_items()
        for helper in helpers:
            helper.result()  # what a thread raised is raised here
