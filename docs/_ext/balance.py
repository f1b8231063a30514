"""Pages that run code, which take longest, are dealt evenly to the processes that read pages at once."""

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


def deal(app: Sphinx, env: BuildEnvironment, names: list[str]) -> None:
    """Reorders the names: neighbours, such as tutorials, go to different processes."""
    stride = 2 * app.parallel
    names[:] = [name for start in range(stride) for name in names[start::stride]]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("env-before-read-docs", deal)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
