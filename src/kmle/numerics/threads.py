"""Blocks of rows shared between threads, where NumPy does the work and lets others run meanwhile."""

import os
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from typing import TypeVar

Item = TypeVar("Item")

# Waking a thread takes as long as a block: each gets at least this many blocks of rows.
BLOCKS_A_THREAD = 4
# More threads than this do not help at a time; they are started when first needed, and then wait for more work.
MOST_HELPERS = 64


@cache
def _helpers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MOST_HELPERS, thread_name_prefix="kmle")


if hasattr(os, "register_at_fork"):
    # A forked child has the pool but none of its threads.
    os.register_at_fork(after_in_child=_helpers.cache_clear)


def for_each(
    work: Callable[[Item], None], items: Iterable[Item], n_threads: int, items_a_thread: int = BLOCKS_A_THREAD
) -> None:
    """Calls work(item) for every item, on at most `n_threads` threads; items must not write to the same memory."""
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
    helpers = [_helpers().submit(take_items) for _ in range(threads - 1)]
    try:
        take_items()
    finally:
        left.clear()  # after a failure no one needs to go on
        # Those that have not begun, as all threads are busy with other calls, are not needed any more.
        begun = [helper for helper in helpers if not helper.cancel()]
        wait(begun)
    for helper in begun:
        helper.result()  # what a thread raised is raised here


def available_threads() -> int:
    """How many threads this process may use at a time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
