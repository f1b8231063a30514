"""Links between pages lead to files that exist. `test_site` also follows those to places on a page."""

import re

import pytest

from documentation.pages import GENERATED, ROOT, pages, text


@pytest.mark.parametrize("page", pages())
def test_links_lead_somewhere(page):
    prose = re.sub(r"^```.*?^```$", "", text(page), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)", prose.replace("\n", " ")):
        if target.startswith(("https://", "mailto:", *GENERATED)):
            continue
        assert (ROOT / page).parent.joinpath(target).exists(), target


HOMES = {
    r"https://kmle\.example\.org/([\w/-]+)\.html": "docs/{}.md",
    r"https://(?:github|raw\.githubusercontent)\.com/kmle-placeholder/kmle/(?:blob/)?main/(\S+)": "{}",
}


@pytest.mark.parametrize("home", HOMES)
def test_absolute_links_of_the_readme_name_files_of_the_repository(home):
    """The README is also read elsewhere, so its links are absolute; what they name is here."""
    named = re.findall(home, re.sub(r"[()]", " ", text("README.md")))
    assert named
    for name in named:
        assert name.startswith(GENERATED) or (ROOT / HOMES[home].format(name)).exists(), name
