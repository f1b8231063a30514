"""Choosing among mixtures: criteria, candidates, the best of them."""
