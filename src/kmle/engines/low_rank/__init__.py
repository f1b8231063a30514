"""Gaussians with few directions of their own: rows are scored with d q products instead of d^2 (Tipping and Bishop,
1999), many components at once as products of matrices.
"""
