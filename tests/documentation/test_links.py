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
