"""Pictures are drawn without a screen, and no figure outlives its test."""

import os

import pytest

os.environ["MPLBACKEND"] = "agg"


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.close("all")
