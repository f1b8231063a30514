"""Code compiled for one instruction set is not what the others run."""

import pytest

from kmle._kernels.backend import compiled_module


def test_no_weak_symbol_is_shared_between_instruction_sets(version):
    compiled = compiled_module()
    if compiled is None or compiled.leaks() is None:
        pytest.skip("the symbols were not looked at when the module was built")
    assert compiled.leaks() == []
