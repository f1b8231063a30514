"""Full Gaussians on many columns, a panel of columns at a time: partial distance search (Bei and Gray, 1985).

The engine, its coordinates, its compiled kernel (`cpp/panels`), and the kernel's NumPy reference.
"""
