"""Scores skipped by bounds on their margins: Elkan (2003) and Hamerly (2010), without a triangle inequality.

The engine, its compiled kernel (`cpp/bounds`), and the kernel's NumPy reference.
"""
