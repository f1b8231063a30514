"""Every test of the kernels runs with every version this machine can run."""

import pytest

from kmle import _kernels as kernels


@pytest.fixture(params=kernels.versions(), autouse=True)
def version(request):
    """Each version in turn serves."""
    kernels.use(request.param)
    yield request.param
    kernels.use(None)
