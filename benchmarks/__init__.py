"""Measurements that take longer than tests; each module says how to run it."""
