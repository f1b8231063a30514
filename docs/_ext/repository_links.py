"""Links of Markdown files that are read on the site and in the repository.

README.md, CONTRIBUTING.md and CHANGELOG.md link to `docs/page.md`; on the site that is `page.md`.
"""

import re

from sphinx.application import Sphinx


def shorten(app: Sphinx, _document: object, content: list[str]) -> None:
    """Replaces the targets of links into docs/, also those of included files."""
    content[0] = re.sub(r"\]\((?:\.\./)?docs/", "](", content[0])


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("include-read", lambda app, path, parent, content: shorten(app, path, content))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
