"""Heavy-tailed positive columns are drawn over their logarithm, in every plot; others are not."""

import numpy as np
import pytest

from kmle import ExponentialFamilyMixture, Mixture
from kmle.families.support import POSITIVE, Integers, Interval
from kmle.plotting import plot_cells, plot_fit, plot_posterior, plot_qq
from kmle.plotting.scales import is_logarithmic

pytest.importorskip("matplotlib")

# Like the Danish fire losses: from one on, a tail of index 1.4.
LOSSES = 1 + np.random.default_rng(0).pareto(1.4, 2000)
REAL = Interval(-np.inf, np.inf)


@pytest.mark.parametrize(
    ("values", "support", "expected"),
    [
        (LOSSES, POSITIVE, True),
        (np.random.default_rng(0).lognormal(0, 1.2, 2000), POSITIVE, True),
        (np.random.default_rng(0).exponential(size=2000), POSITIVE, False),
        (np.random.default_rng(0).gamma(5.0, size=2000), POSITIVE, False),
        (np.random.default_rng(0).normal(100, 5, 2000), POSITIVE, False),
        (LOSSES, REAL, False),
        (LOSSES, Interval(0.0, 1e9), False),
        (np.floor(LOSSES), Integers(0, np.inf), False),
        (np.ones(30), POSITIVE, False),
        (np.where(np.arange(2000) % 2, LOSSES, 0.0), POSITIVE, False),
    ],
)
def test_which_columns(values, support, expected):
    assert is_logarithmic(values, support) is expected


@pytest.fixture(scope="module")
def two_columns():
    rng = np.random.default_rng(0)
    X = np.stack([LOSSES, rng.normal(10, 1, len(LOSSES)) ** 2], axis=1)
    return ExponentialFamilyMixture(2, family="log-normal", random_state=0).fit(X), X


def test_losses_are_on_a_logarithmic_axis_in_every_plot(two_columns):
    model, X = two_columns
    one = ExponentialFamilyMixture(2, family="log-normal", random_state=0).fit(X[:, :1])
    assert plot_fit(one, X[:, :1]).get_xscale() == "log"
    assert plot_posterior(one, X[:, :1]).get_xscale() == "log"
    ax = plot_qq(one, X[:, :1])
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    for ax in (plot_fit(model, X), plot_cells(model, X)):
        assert (ax.get_xscale(), ax.get_yscale()) == ("log", "linear")


def test_a_pair_plot_has_its_diagonal_over_the_same_scale(two_columns):
    rng = np.random.default_rng(0)
    X = np.column_stack([two_columns[1], rng.gamma(9.0, size=len(LOSSES))])
    axes = plot_fit(ExponentialFamilyMixture(2, family="log-normal", random_state=0).fit(X), X)
    assert [axes[i, 0].get_xscale() for i in range(3)] == ["log"] * 3
    assert [axes[i, 1].get_xscale() for i in (1, 2)] == ["linear"] * 2


def test_the_density_over_the_logarithm_has_the_area_it_should():
    mixture = Mixture.from_source("log-normal", [0.6, 0.4], log_mean=[0.0, 4.0], log_std=[0.5, 1.0])
    ax = plot_fit(mixture, mixture.sample(3000, 0))
    (total,) = [line for line in ax.lines if line.get_linestyle() != "-"]
    x, y = np.log10(total.get_xdata()), total.get_ydata()
    assert np.trapezoid(y, x) == pytest.approx(1.0, abs=0.01)
    heights = np.array([bar.get_height() for bar in ax.patches])
    widths = np.array([np.log10((bar.get_x() + bar.get_width()) / bar.get_x()) for bar in ax.patches])
    assert heights @ widths == pytest.approx(1.0, abs=0.01)


def test_contours_on_logarithmic_axes_hold_their_share():
    # For log-normal columns the density of the logarithms is Gaussian, so its contours are ellipses there.
    mixture = Mixture.from_source("log-normal", [1.0], log_mean=[[1.0, 2.0]], log_std=[[1.3, 1.5]])
    ax = plot_fit(mixture, mixture.sample(3000, 0))
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    paths = [path for drawn in ax.collections for path in drawn.get_paths() if len(path.vertices) > 50]
    radii = [np.linalg.norm((np.log(path.vertices) - [1.0, 2.0]) / [1.3, 1.5], axis=1) for path in paths]
    assert sorted(np.round([r.mean() for r in radii], 1)) == [1.0, 2.0]
    assert max(np.ptp(r) for r in radii) < 0.15
