"""Where the extra `image` is not installed, nothing here can run."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("PIL") else ["test_*.py"]
