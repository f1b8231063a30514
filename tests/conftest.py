"""Settings for all tests: the same draws on every run, and no time limit on a busy machine."""

from hypothesis import settings

settings.register_profile("deterministic", derandomize=True, deadline=None)
settings.load_profile("deterministic")
