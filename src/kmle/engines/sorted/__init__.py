"""One column in order, where cells are intervals: the cell diagram of section 5 of the paper, found by bisection.

The engine and its compiled kernel (`cpp/sorted`): a bucket sort whose buckets are sorted when first asked for.
"""
