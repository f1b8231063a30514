"""Where chunks live: in memory, in a stream that is read again for every pass, or on the workers of a Dask cluster.

Statistics add, so a pass over chunks is a pass over each of them and a sum. `batches` says what is streamed, `look`
takes the first look at each chunk, `piece` makes passes over one, `problem` is the learning problem of all; `local`
and `cluster` run them.
"""

from .batches import Batches, Chunk, is_dask, is_streamed
from .local import StreamedChunks
from .piece import Settings
from .problem import ChunkedProblem, Chunks

__all__ = [
    "Batches",
    "Chunk",
    "ChunkedProblem",
    "Chunks",
    "Settings",
    "StreamedChunks",
    "is_dask",
    "is_streamed",
]
