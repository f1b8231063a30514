"""Rows with missing entries by pattern: the likelihood of what was observed (Little and Rubin, 2019, chapter 11).

Statistics of missing entries are replaced by their expectations given the observed ones (Orchard and Woodbury, 1972).
"""
