"""Mixtures, fits and selections as HTML for notebooks: a table, a small plot, the colours of the theme.

Text and lines take the colour of the page. The colours of components follow the theme of JupyterLab, VS Code and Colab
where it is known, and that of the system elsewhere.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..palette import colours, dark_colours
from .cells import MOST_COLUMNS, Shown, component_cells, line_names, number, shown_components
from .markup import element, text
from .plots import lines_plot, mixture_plot

# Candidates and notes that are shown of a selection.
MOST_ROWS, MOST_NOTES = 10, 5
# Lines of a plot of a selection.
MOST_LINES = 8

STYLE = """
.kmle{font-size:13px;line-height:1.4;color:inherit;display:block}
.kmle .title{font-weight:600;margin:.2em 0 .4em}
.kmle .beside{display:flex;flex-wrap:wrap;gap:4px 24px;align-items:flex-start}
.kmle table{font-size:inherit;border-collapse:collapse;margin:0;color:inherit;font-variant-numeric:tabular-nums}
.kmle tr,.kmle tr:nth-child(even),.kmle tr:hover{background:transparent}
.kmle th,.kmle td{padding:2px 8px;text-align:right;border:0;font-weight:400;background:transparent;color:inherit}
.kmle th.name,.kmle td.name{text-align:left}
.kmle pre{margin:0;font-size:12px;background:transparent;color:inherit;text-align:left}
.kmle thead th{font-weight:600;border-bottom:1px solid #8886;white-space:nowrap}
.kmle tbody td:first-child,.kmle tbody th:first-child{white-space:nowrap}
.kmle tbody tr.first td,.kmle tbody tr.first th{border-top:1px solid #8883}
.kmle tbody:first-of-type tr.first td,.kmle tbody:first-of-type tr.first th{border-top:0}
.kmle .badge{display:inline-block;width:9px;height:9px;border-radius:50%;background:var(--own,#888);margin-right:6px}
.kmle .scroll{overflow:auto;max-width:100%;max-height:420px}
.kmle svg{max-width:100%;overflow:hidden;flex:none}
.kmle svg text{fill:currentColor;font-size:10.5px;opacity:.8;font-family:inherit}
.kmle svg .axis{stroke:currentColor;opacity:.5;fill:none}
.kmle svg .part{stroke:var(--own,#888);fill:var(--own,#888);fill-opacity:.16;stroke-width:1.4}
.kmle svg .bars{stroke:var(--own,#888);stroke-width:3;stroke-opacity:.6;fill:none}
.kmle svg .whole{stroke:currentColor;fill:none;stroke-width:1.4}
.kmle svg .line{stroke:var(--own,#888);fill:none;stroke-width:1.5}
.kmle svg .dot{fill:var(--own,#888)}
.kmle svg .ring{stroke:currentColor;fill:none;stroke-width:1.4}
.kmle ul{margin:.3em 0;padding-left:1.4em}
.kmle .muted{opacity:.75}
""".strip().replace("\n", "")
DARK = ('body[data-jp-theme-light="false"] .kmle', "body.vscode-dark .kmle", 'html[theme="dark"] .kmle')
LIGHT = ('body[data-jp-theme-light="true"] .kmle', "body.vscode-light .kmle")


def page(title: str, parts: Sequence[str], n_colours: int) -> str:
    """Everything in one element that changes nothing outside it."""
    bright, dark = (_variables(found(n_colours)) for found in (colours, dark_colours))
    style = (
        f"{STYLE}.kmle{{{bright}}}@media(prefers-color-scheme:dark){{.kmle{{{dark}}}}}"
        f"{','.join(LIGHT)}{{{bright}}}{','.join(DARK)}{{{dark}}}"
    )
    return element("div", f"<style>{style}</style>", element("div", text(title), class_="title"), *parts, class_="kmle")


def _variables(found: Sequence[str]) -> str:
    return ";".join(f"--kmle-{j}:{colour}" for j, colour in enumerate(found))


def mixture_html(mixture: Shown) -> str:
    """A mixture: its components in a table, and a plot."""
    return page(mixture_title(mixture), [_table_and_plot(mixture)], max(shown_components(mixture)) + 1)


def mixture_title(mixture: Shown) -> str:
    """What a mixture is, in a line."""
    k, d = mixture.n_components, mixture.family.n_features or 1
    components, columns = "component" if k == 1 else "components", "column" if d == 1 else "columns"
    return f"Mixture of {k} {mixture.family.name} {components}, {d} {columns}"


def _table_and_plot(mixture: Shown) -> str:
    return element("div", _components_table(mixture), mixture_plot(mixture), class_="beside")


def _components_table(mixture: Shown) -> str:
    """A line for each column of each component."""
    lines = line_names(mixture.family, mixture.columns)
    members = mixture.members
    cells = {j: component_cells(members[j], j, {}) for j in shown_components(mixture)}
    headings = list(dict.fromkeys(heading for own in cells.values() for _, heading in own))
    several = len(lines) > 1
    mixed = len({member.family.name for member in members}) > 1
    first = ["", *(["family"] if mixed else []), "weight"]
    names = [*first, *(["column"] if several else []), *(heading.replace("_", " ") for heading in headings)]
    head = element("thead", element("tr", *(element("th", text(name), class_=_side(name)) for name in names)))
    bodies = []
    for j, own in cells.items():
        start = [_component(j), *([text(members[j].family.name)] if mixed else []), number(mixture.weights[j])]
        rows = [
            [*(start if line == 0 else [""] * len(start)), *([text(name) if own else ""] if several else [])]
            + [_cell(own.get((line, heading), ""), heading) for heading in headings]
            for line, name in enumerate(lines[: MOST_COLUMNS if own else 1])
        ]
        if len(lines) > MOST_COLUMNS and own:
            rows.append([*[""] * len(start), f"{len(lines) - MOST_COLUMNS} more", *[""] * len(headings)])
        bodies.append(element("tbody", *(_row(names, row, place == 0) for place, row in enumerate(rows))))
    hidden = mixture.n_components - len(cells)
    more = element("div", f"and {hidden} components of lower weight", class_="muted") if hidden else ""
    return element("div", element("table", head, *bodies), more, class_="scroll")


def _component(j: int) -> str:
    return element("span", class_="badge", style=f"--own: var(--kmle-{j})") + str(j)


def _cell(content: str, heading: str) -> str:
    # Correlations are a triangle: their columns stand under each other.
    return element("pre", text(content)) if heading == "correlation" and content else text(content)


def _side(heading: str) -> str:
    return "name" if heading in ("", "column", "correlation", "family") else "value"


def _row(names: Sequence[str], cells: Sequence[str], first: bool) -> str:
    written = (element("td", cell, class_=_side(name)) for name, cell in zip(names, cells, strict=True))
    return element("tr", *written, class_="first" if first else "further")


def _details(pairs: Mapping[str, str]) -> str:
    rows = (
        element("tr", element("th", text(name), class_="name muted"), element("td", text(value), class_="name"))
        for name, value in pairs.items()
    )
    return element("table", element("tbody", *rows))


def _notes(notes: Sequence[str]) -> str:
    shown = [element("li", text(note)) for note in notes[:MOST_NOTES]]
    if len(notes) > MOST_NOTES:
        shown.append(element("li", f"and {len(notes) - MOST_NOTES} more notes", class_="muted"))
    return element("ul", *shown) if shown else ""


def fit_html(fit: Any) -> str:
    """A fit: its mixture, how it was reached, and the objective by iteration."""
    ended = "converged" if fit.converged else "stopped before convergence"
    details = {
        "rows": f"{fit.n:.6g}",
        "log-likelihood": f"{fit.log_likelihood:.6g}",
        "bic": f"{fit.criteria.bic:.6g}",
        "algorithm": fit.algorithm,
        "iterations": f"{fit.n_iter}, {ended}",
        "seconds": f"{fit.seconds:.3g}",
    }
    objectives = fit.objectives
    finite = np.isfinite(objectives)
    curve = ""
    if finite.sum() > 1:
        steps = np.linspace(0, fit.n_iter, len(objectives))[finite]
        curve = lines_plot([(steps, objectives[finite])], "iteration", "objective")
    below = element("div", _details(details), curve, class_="beside")
    title = mixture_title(fit.mixture).replace("Mixture", "Fit", 1)
    return page(title, [_table_and_plot(fit.mixture), below, _notes(fit.notes)], max(shown_components(fit.mixture)) + 1)


def selection_html(selection: Any) -> str:
    """A selection: the best candidates, the criterion by number of components, what was omitted and why."""
    criterion, lowest = selection.criterion, selection.best.value(selection.criterion)
    drawn = _drawn_names(selection)
    names = ["family", "k", "log-likelihood", "parameters", criterion, "behind"]
    head = element("thead", element("tr", *(element("th", text(name), class_=_side(name)) for name in names)))
    rows = []
    for candidate in selection.ranking[:MOST_ROWS]:
        value = candidate.value(criterion)
        place = drawn.get(candidate.name)
        mark = "" if place is None else element("span", class_="badge", style=f"--own: var(--kmle-{place})")
        numbers = [candidate.criteria.log_likelihood, candidate.criteria.n_parameters, value, value - lowest]
        cells = [f"{each:.2f}" if isinstance(each, float) else str(each) for each in numbers]
        rows.append(_row(names, [mark + text(candidate.name), str(candidate.n_components), *cells], False))
    hidden = len(selection.ranking) - MOST_ROWS
    more = element("div", f"and {hidden} more candidates", class_="muted") if hidden > 0 else ""
    table = element("div", element("table", head, element("tbody", *rows)), more, class_="scroll")
    left_out = [f"{c.name} is omitted: {c.note}." for c in selection.candidates if c.n_components is None]
    body = element("div", table, _selection_plot(selection, drawn), class_="beside")
    return page(selection.sentence, [body, _notes([*selection.notes, *left_out])], max(1, len(drawn)))


def _drawn_names(selection: Any) -> dict[str, int]:
    """The families that have a line in the plot, best first, and the colour of each."""
    names = dict.fromkeys(candidate.name for candidate in selection.ranking)
    return {name: place for place, name in enumerate(list(names)[:MOST_LINES])}


def _selection_plot(selection: Any, drawn: Mapping[str, int]) -> str:
    lines = []
    for name in drawn:
        points = sorted((c.n_components, c.value(selection.criterion)) for c in selection.ranking if c.name == name)
        finite = [point for point in points if np.isfinite(point[1])]
        if not finite:
            return ""
        lines.append((np.array([k for k, _ in finite], dtype=float), np.array([value for _, value in finite])))
    if not lines or sum(len(line[0]) for line in lines) < 2:
        return ""
    best = float(selection.best.n_components), selection.best.value(selection.criterion)
    # Far too few components are so much worse that all others would be one line.
    values = np.concatenate([line[1] for line in lines])
    top = best[1] + 3 * float(np.median(values) - best[1])
    return lines_plot(lines, "number of components", selection.criterion, best, top)
