"""The pages of the documentation: their text, code blocks and tables."""

import itertools
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Written by the build of the site.
GENERATED = ("_build", "api/generated", "gallery")


def pages() -> list[str]:
    """All pages of the site and of the repository, by their paths."""
    docs = sorted(path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md"))
    kept = [f"docs/{name}" for name in docs if not name.startswith(GENERATED)]
    return ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "examples/data/README.md", *kept]


def text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def fenced_blocks(page: str) -> list[tuple[str, str]]:
    """(language, content) of every fenced block, in order."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", text(page), flags=re.MULTILINE | re.DOTALL)


def cells(page: str) -> list[str]:
    """The code cells of a notebook in Markdown, without their options."""
    found = re.findall(r"^```\{code-cell\}\n(.*?)^```$", text(page), flags=re.MULTILINE | re.DOTALL)
    return [re.sub(r"^:\w+:.*\n", "", cell, flags=re.MULTILINE) for cell in found]


def table(page: str, *header: str) -> list[list[str]]:
    """The cells, by row, of the first table whose header begins with these names."""
    lines = iter(text(page).splitlines())
    opening = "| " + " | ".join(header) + " |"
    assert any(line.startswith(opening) for line in lines), f"{page} has no table that begins with {header}"
    rows = itertools.takewhile(lambda line: line.startswith("|"), lines)
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows][1:]


def codes(cell: str) -> list[str]:
    """What stands between backticks."""
    return re.findall(r"`([^`]+)`", cell)
