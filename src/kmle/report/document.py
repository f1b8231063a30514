"""The page itself: sections, figures and scripts put together as one HTML document that needs no network."""

import base64
import hashlib
from dataclasses import dataclass

from ..mixture import Mixture
from .figure import Panel, palettes, shared_lists
from .library import own_text, plotly
from .markup import element, script_data, text

# Lines of a selection have colours of their own.
LINES = 7


@dataclass(frozen=True)
class Section:
    """A part of the page under a heading: markup, or a figure; across the page or half of it."""

    name: str
    content: str | Panel
    wide: bool = False
    key: str = ""
    """What a figure is called in the page."""


def document(title: str, about: str, cards: str, sections: list[Section], mixture: Mixture) -> str:
    """The page as text."""
    library, script = plotly(), f"{own_text('drawing.js')}{own_text('page.js')}"
    drawn = {
        section.key: [figure.content() for _, figure in section.content.views]
        for section in sections
        if isinstance(section.content, Panel)
    }
    thin, lists = shared_lists(drawn)
    content = {"panels": thin, "shared": lists, "palettes": palettes(mixture.n_components), "lines": palettes(LINES)}
    return TEMPLATE.format(
        policy=_policy(library, script),
        title=text(title),
        style=own_text("page.css"),
        about=text(about),
        cards=cards,
        main="".join(_section(section) for section in sections),
        model=script_data(mixture.to_dict()),
        content=script_data(content),
        library=library,
        script=script,
    )


def _section(section: Section) -> str:
    content = section.content
    shown = _drawing(section.key, content) if isinstance(content, Panel) else content
    return element("section", element("h2", text(section.name)), shown, class_="wide" if section.wide else "half")


def _drawing(key: str, panel: Panel) -> str:
    """Where a plot is drawn, and the list to choose from where there are several."""
    chooser = ""
    if len(panel.views) > 1:
        options = [element("option", text(view), value=str(place)) for place, (view, _) in enumerate(panel.views)]
        chooser = element("label", "Show ", element("select", *options, data_for=key), class_="chooser")
    place = element("div", class_="plot", id=f"plot-{key}", data_panel=key)
    note = element("p", text(panel.caption), " ", element("span", class_="view-note"), class_="note")
    return element("figure", chooser, place, note)


def _policy(*scripts: str) -> str:
    """Nothing may be fetched, and no script may run but these."""
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


TEMPLATE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="kmle">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header>
<div><h1>{title}</h1><p>{about}</p></div>
<nav><button id="download" type="button">Download the model</button>
<button id="theme" type="button" aria-label="Light or dark">◐</button></nav>
</header>
{cards}
<noscript><p class="note">The plots and the download need JavaScript.</p></noscript>
<main>{main}</main>
<footer>Written by kmle. This page is self-contained and uses no network.</footer>
<script type="application/json" id="model">{model}</script>
<script type="application/json" id="content">{content}</script>
<script>{library}</script>
<script>{script}</script>
</body>
</html>
"""
