"""kmle against its peers: the same data, the same start, the same process. `python -m benchmarks --help` says how."""
