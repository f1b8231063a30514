"""BLAS on one thread, where its threads would get in the way of the kernels' own."""

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()  # looks through all that is loaded: once is enough


def blas_on_one_thread() -> AbstractContextManager[object]:
    """Within it BLAS computes on the calling thread: its idle threads would spin and take the cores from the kernels.

    >>> import numpy as np
    >>> with blas_on_one_thread():
    ...     np.eye(2) @ np.ones(2)
    array([1., 1.])
    """
    limited: AbstractContextManager[object] = _libraries().limit(limits=1, user_api="blas")
    return limited
