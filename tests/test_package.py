"""The names of the package come when they are asked for, and only those that are there."""

import subprocess
import sys

import pytest

import kmle


def test_every_public_name_is_there():
    assert all(getattr(kmle, name) is not None for name in kmle.__all__)
    assert set(kmle.__all__) <= set(dir(kmle))


def test_submodules_need_no_import_of_their_own():
    code = "import kmle; print(kmle.algorithms.Exact(exactly=True), kmle.families.Poisson())"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout


def test_other_names_are_refused():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        kmle.nothing  # noqa: B018


def test_the_package_alone_loads_nothing_heavy():
    code = "import sys, kmle; print('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout.strip() == b"False"
