"""Trees over the components: ball trees (Omohundro, 1989) and vantage-point trees (Yianilos, 1993), section 5 of the
paper.

They are here to be asked for (`engine="ball-tree"`, `"vp-tree"`); the boxes engine is 1.6 to 15 times faster.
"""
