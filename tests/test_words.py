"""Identifiers use the field's words: the glossary of CONTRIBUTING.md, one meaning each."""

import ast
import re
from pathlib import Path

import pytest

from package import ROOT, module_files

# Words that named known ideas in a private way, and what to say instead.
OLD_WORDS = {
    "law": "distribution",
    "laws": "distributions",
    "fact": "fixed parameter",
    "facts": "fixed parameters",
    "told": "message, or estimated",
    "stretch": "span",
    "stretches": "spans",
    "lead": "margin",
    "leads": "margins",
    "home": "anchor",
    "homes": "anchors",
    "doubt": "error bound",
    "doubts": "error bounds",
    "raised": "inflated",
    "survey": "column summary",
    "origin": "center",
    "origins": "centers",
    "centre": "center",
    "centred": "centered",
    "evidence": "log_likelihood",
    "living": "active",
    "dead": "inactive",
    "alive": "active",
    "buried": "inactive",
    "settle": "merge, prepare or decide",
    "keeper": "checkpoint writer",
    "recall": "restore",
    "serving": "backend",
    "contestant": "candidate",
    "contestants": "candidates",
    "wish": "options",
    "picture": "image or plot",
    "pictures": "images or plots",
    "died": "removed",
}
# Where a word belongs to others: an argument of matplotlib, a field of a file format, a class of nanobind.
ALLOWED = {
    ("plotting/cells.py", "origin"),
    ("plotting/bins.py", "origin"),
    ("report/comparison.py", "_origin"),
    ("images/model.py", "facts"),
    ("images/model.py", "laws"),
    ("cpp/bindings/sorted_module.cpp", "keep_alive"),
}
# Inversions and old words that need a second reading: say the number by its name, "recomputed", "prepared".
PHRASES = re.compile(r"\b(so many|afresh|whoever|made ready|used up|of two the)\b", re.IGNORECASE)
SOURCES = sorted((ROOT / "cpp").rglob("*.?pp"))


def old_words(identifier: str) -> list[str]:
    """The words of an identifier that should not be there.

    >>> old_words("evidence_in"), old_words("leading_columns")
    (['evidence'], [])
    """
    words = re.sub(r"([a-z])([A-Z])", r"\1_\2", identifier).lower().split("_")
    return [word for word in words if word in OLD_WORDS]


def python_identifiers(source: str) -> set[str]:
    """Names, attributes, arguments, functions and classes."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        for field in ("id", "attr", "arg", "name", "asname"):
            value = getattr(node, field, None)
            if isinstance(value, str):
                found.add(value)
    return found


def cpp_identifiers(source: str) -> set[str]:
    """All words outside of comments and strings."""
    return set(re.findall(r"[A-Za-z_]\w*", re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', "", source, flags=re.S)))


def complaints(path: Path, identifiers: set[str]) -> list[str]:
    name = path.relative_to(ROOT).as_posix()
    return [
        f"{name}: {identifier}: say {OLD_WORDS[old_words(identifier)[0]]}"
        for identifier in sorted(identifiers)
        if old_words(identifier) and (name, identifier) not in ALLOWED
    ]


def phrases(path: Path) -> list[str]:
    """The lines of a file with phrases that a newcomer would read twice."""
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    return [f"{path.relative_to(ROOT)}:{number}: {line.strip()}" for number, line in lines if PHRASES.search(line)]


def test_python_uses_the_words_of_the_field():
    assert [
        complaint
        for path in module_files().values()
        for complaint in complaints(path, python_identifiers(path.read_text(encoding="utf-8")))
    ] == []


def test_cpp_uses_the_words_of_the_field():
    assert [
        complaint
        for path in SOURCES
        for complaint in complaints(path, cpp_identifiers(path.read_text(encoding="utf-8")))
    ] == []


def test_comments_and_docstrings_are_plain():
    assert [phrase for path in [*module_files().values(), *SOURCES] for phrase in phrases(path)] == []


@pytest.mark.parametrize("identifier", ["evidence", "row_evidence", "WideLaws", "home_"])
def test_old_words_are_found(identifier):
    assert old_words(identifier)


@pytest.mark.parametrize("identifier", ["power_lawyer", "leading", "original", "raise_if_empty", "centered_rows"])
def test_other_words_are_not(identifier):
    assert old_words(identifier) == []
