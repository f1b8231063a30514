"""The documentation site is built without a warning, and its links lead somewhere.

The build runs the tutorials and the gallery, so no other test does. `KMLE_SITE=docs/_build/html` checks a site that is
already built.
"""

import os
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from package import PROJECT

for package in (
    "sphinx",
    "pydata_sphinx_theme",
    "numpydoc",
    "myst_nb",
    "sphinx_gallery",
    "sphinx_design",
    "latex2mathml",
):
    pytest.importorskip(package, reason="the site needs the extra docs")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built from a copy, as the build writes beside its sources."""
    if built := os.environ.get("KMLE_SITE"):
        return Path(built).resolve()
    folder = tmp_path_factory.mktemp("site")
    for name in ("docs", "examples"):
        shutil.copytree(PROJECT / name, folder / name, ignore=shutil.ignore_patterns("_build", "generated"))
    for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff", "SECURITY.md", "CODE_OF_CONDUCT.md"):
        shutil.copy(PROJECT / name, folder / name)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-j", "auto", "docs", "html"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=os.environ | {"MPLBACKEND": "agg"})
    assert run.returncode == 0, run.stderr
    return folder / "html"


class Page(HTMLParser):
    """The targets and anchors of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors, self.fetched = [], set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if values.get("id"):
            self.anchors.add(values["id"])
        target = values.get("href") or values.get("src")
        if target and tag in ("a", "img", "link", "script"):
            self.links.append(target)
            if tag != "a" and values.get("rel") != "canonical":
                self.fetched.append(target)


def test_internal_links_lead_somewhere(site):
    pages = {path: Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}
    assert len(pages) > 100
    missing = [
        f"{path.relative_to(site)}: {link}"
        for path, page in pages.items()
        for link in page.links
        if leads_nowhere(path, link, pages)
    ]
    assert missing == []


def leads_nowhere(path, link, pages):
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return False
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.suffix == ".html" and parts.fragment and target in pages:
        return parts.fragment not in pages[target].anchors
    return not target.exists()


@pytest.mark.parametrize(
    "page", ["index", "start/install", "guide", "tutorials/index", "gallery/index", "api/index", "search"]
)
def test_the_page_is_there(site, page):
    assert (site / f"{page}.html").stat().st_size > 1000


def test_the_search_knows_the_estimators(site):
    assert "ExponentialFamilyMixture" in (site / "searchindex.js").read_text(encoding="utf-8")


def test_nothing_is_fetched_from_elsewhere(site):
    """Pages also work offline and from a file path: scripts, styles and images are part of the site."""
    pages = [Page(path) for path in site.rglob("*.html")]
    assert {link for page in pages for link in page.fetched if urlsplit(link).netloc} == set()
