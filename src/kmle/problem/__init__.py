"""What is maximised: the likelihood of rows plus a prior, and how parameters follow from statistics.

`objective` needs no rows; `problem` has them in memory, `chunked` in chunks of a stream (`stream`) or of Dask (`dask`).
"""
