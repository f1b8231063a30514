"""What plain loops find, computed once for all versions of the kernels: each is given the same rows."""

import functools
import hashlib

import numpy as np

MOST = 2048


def remembered(function):
    """The function of arrays and texts with its latest answers kept; they cannot be written to."""
    known = {}

    @functools.wraps(function)
    def asks_once(*arguments):
        key = hashlib.blake2b(digest_size=16)
        for argument in arguments:
            if isinstance(argument, str):
                key.update(argument.encode())
                continue
            array = np.ascontiguousarray(argument)
            key.update(f"{array.dtype}{array.shape}".encode())
            key.update(array)
        found = known.get(key.digest())
        if found is None:
            found = function(*arguments)
            for array in found if isinstance(found, tuple) else (found,):
                if isinstance(array, np.ndarray):
                    array.flags.writeable = False
            if len(known) == MOST:
                del known[next(iter(known))]
            known[key.digest()] = found
        return found

    return asks_once
