"""How rows are assigned: engines make hard and soft passes over the rows, and all give the same labels.

`dense` scores every row with every component; `boxes`, `bounds`, `sorted` and `panels` score fewer, each where it is
faster; `trees` holds the two proximity trees of the paper. `choose` decides between them, and `score` gives densities
and posteriors of rows, for `predict` as for fits.
"""
