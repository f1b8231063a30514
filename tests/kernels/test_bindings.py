"""Whatever Python gives to the compiled module is checked: wrong arguments are refused, never memory of others used."""

import ast
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from kmle import _kernels as kernels
from kmle._kernels.backend import compiled_module

HERE = Path(__file__).parent
# They say what there is, and take no arguments.
NO_ARGUMENTS = {"instruction_set", "instruction_sets", "leaks"}
# The same code for other types of values.
COPIES = {"PackedRows32", "SparseRows32", "SparseRows32Long", "SparseRows64Long"}
FORMS = {"strided", "reversed", "by columns"}
SHAPES = {
    "short",
    "long",
    "empty",
    "narrow",
    "broad",
    "of another type",
    "with another axis",
    "without an axis",
    "text",
    "another object",
    "another length",
}
RANGES = {"one too large", "one negative"}
# Either precision will do.
ANY_PRECISION = {
    ("PackedRows64.load_shifted", "table"),
    ("PackedRows64.label_table", "table"),
    ("PanelsRows.soft_pass", "table.rows"),
    ("product_sums", "table.rows"),
    ("CenteredTable", "rows"),
}


@pytest.fixture
def tried(version):
    """What came of all wrong calls, by function, argument and what was wrong."""
    if compiled_module() is None:
        pytest.skip("only the compiled module can touch memory of others")
    if version != "baseline":
        pytest.skip("arguments are checked by code that all instruction sets share")
    return wrong_calls(version)


@cache
def wrong_calls(version):
    """Made in a process of their own, which a wrong use of memory would end."""
    command = [sys.executable, str(HERE / "wrong_calls.py"), version]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=os.environ)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, (lines[-1:], done.stderr[-2000:])
    assert lines[-1] == "done"
    return {tuple(line.split("|")[:3]): line.split("|")[3] for line in lines[:-1]}


def must_be_refused(name, argument, what):
    from wrong_calls import INDICES, MAY

    if (name, argument, what) in MAY or (what == "of another type" and (name, argument) in ANY_PRECISION):
        return False
    if what in RANGES:
        # A label that is negative stands for none, unless a pass needs one for every row.
        none = what == "one negative" and argument.endswith("labels") and "bounds" not in name
        return (name, argument) in INDICES and not none
    return what in SHAPES or what == "number -1"


def test_wrong_calls_are_refused(tried, monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))
    right = {key: came for key, came in tried.items() if key[2] == "as it should be"}
    assert set(right.values()) == {"accepted"}, right
    let_in = [key for key, came in tried.items() if came != "refused" and must_be_refused(*key)]
    assert let_in == []
    assert [key for key, came in tried.items() if came == "differs"] == []


def test_all_functions_are_tried(tried):
    compiled = compiled_module()
    names = {name for name in vars(compiled) if not name.startswith("_")} - NO_ARGUMENTS - COPIES
    for name in sorted(names):
        member = getattr(compiled, name)
        if isinstance(member, type):
            names |= {f"{name}.{method}" for method in vars(member) if not method.startswith("_")}
    names = {name.removesuffix("32") + "64" if name.endswith("32") else name for name in names}
    assert names == {name for name, _, _ in tried}


def test_the_stub_has_what_the_module_has(version, monkeypatch):
    if version != "baseline":
        pytest.skip("one comparison is enough")
    monkeypatch.syspath_prepend(str(HERE))
    from right_calls import calls

    stub = Path(kernels.__file__).with_name("_compiled.pyi").read_text(encoding="utf-8")
    written = {}
    for node in ast.parse(stub).body:
        if isinstance(node, ast.FunctionDef):
            written[node.name] = node
        elif isinstance(node, ast.ClassDef):
            methods = {f"{node.name}.{method.name}": method for method in node.body}
            written |= {name.removesuffix(".__init__"): method for name, method in methods.items()}
    for name, (_, arguments) in calls().items():
        assert {argument.arg for argument in written[name].args.args} - {"self"} == set(arguments), name
    defined = {name.split(".")[0] for name in written}
    assert defined == {name for name in vars(compiled_module()) if not name.startswith("_")}


def test_counting_beyond_the_table_is_refused(version):
    if compiled_module() is None:
        pytest.skip("NumPy counts as far as values go")
    for beyond in ([3.0, 5e8], [2.0, 3.0], [3.0, np.nan]):
        with pytest.raises(ValueError, match="range of the table"):
            kernels.tabulate(np.array(beyond), 3.0, 3)
        with pytest.raises(ValueError, match="range of the table"):
            kernels.look_up(np.array(beyond), 3.0, np.zeros(3, np.int32))
