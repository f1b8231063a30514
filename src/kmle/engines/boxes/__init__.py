"""Components ruled out for whole boxes of rows: filtering with a k-d tree (Pelleg and Moore, 1999; Kanungo et al.,
2002).

The engine, its compiled kernel (`cpp/boxes`), and the kernel's NumPy reference.
"""
