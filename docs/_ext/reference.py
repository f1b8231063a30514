"""The pages of the API reference, written from the lists of public names (`__all__`), so that none is missing."""

import inspect
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from kmle.families import ExponentialFamily


@dataclass(frozen=True)
class Page:
    title: str
    text: str
    modules: tuple[str, ...]


PAGES = {
    "main": Page("Estimators and mixtures", "What most programs need is in the package itself.", ("kmle",)),
    "families": Page(
        "Families",
        "A family is an object with formulas. All families share the methods of "
        ":class:`~kmle.families.ExponentialFamily`.",
        ("kmle.families",),
    ),
    "selection": Page(
        "Selection, inspection, divergences",
        "How many components, how sure, how far apart.",
        ("kmle.selection", "kmle.inspection", "kmle.divergences"),
    ),
    "plotting": Page(
        "Plots and reports", "Plots need the extra ``plot``, images ``image``.", ("kmle.plotting", "kmle.report")
    ),
    "data": Page("Files", "Tables need the extra ``cli``.", ("kmle.io",)),
    "images": Page("Images", "Images as point sets and mixtures, with the extra ``image``.", ("kmle.images",)),
    "algorithms": Page(
        "Algorithms",
        'Most users name an algorithm, as in ``KMLE(algorithm="hartigan")``. These are the objects behind the names.',
        ("kmle.algorithms",),
    ),
}


def public_names(module: str) -> list[str]:
    """The classes and functions that a module lists as public, classes first."""
    values = {name: getattr(import_module(module), name) for name in import_module(module).__all__}
    documented = [name for name, value in values.items() if inspect.isclass(value) or inspect.isfunction(value)]
    return sorted(documented, key=lambda name: (inspect.isfunction(values[name]), name.lower()))


def is_family(name: str) -> bool:
    """Whether a dotted name is a family other than the base class."""
    module, _, short = name.rpartition(".")
    value = getattr(import_module(module), short)
    return inspect.isclass(value) and issubclass(value, ExponentialFamily) and value is not ExponentialFamily


def section(module: str, listed: set[str]) -> list[str]:
    """A table of the names of a module that no earlier module has."""
    names = [name for name in public_names(module) if name not in listed]
    listed.update(names)
    table = [f".. currentmodule:: {module}", "", ".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""]
    return [module, "-" * len(module), "", *table, *(f"   {name}" for name in names), ""]


def write_pages(folder: Path) -> None:
    """Writes a page for each entry of PAGES, and leaves those alone that would not change."""
    listed: set[str] = set()
    for name, page in PAGES.items():
        lines = [page.title, "=" * len(page.title), "", page.text, ""]
        for module in page.modules:
            lines += section(module, listed)
        path, content = folder / f"{name}.rst", "\n".join(lines)
        if not path.exists() or path.read_text(encoding="utf-8") != content:
            path.write_text(content, encoding="utf-8")
