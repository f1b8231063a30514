"""Missing entries in what surrounds a fit: labels, batches, checkpoints, tables of other libraries, plots."""

import numpy as np
import pytest

from kmle import KMLE, ExponentialFamilyMixture
from published.datasets import table

AIR = table("airquality.csv", (0, 1, 2, 3))
ESTIMATORS = [ExponentialFamilyMixture, KMLE]


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("family", ["gaussian", "gamma", "gaussian-eee"])
def test_labels_of_incomplete_rows(family, estimator):
    """Labels fix components; the objective is that of the observed entries and never falls."""
    labels = np.full(len(AIR), -1)
    labels[:20], labels[80:100] = 0, 1
    model = estimator(2, family=family, prior_strength=0, random_state=0).fit(AIR, labels=labels)
    known = labels >= 0
    np.testing.assert_array_equal(model.labels_[known], labels[known])
    joint = model.mixture_.log_joint(AIR)
    joint[known, 1 - labels[known]] = -np.inf
    value = joint.max(axis=1).sum() if estimator is KMLE else np.logaddexp.reduce(joint, axis=1).sum()
    assert model.objective_ == pytest.approx(value, rel=1e-10)
    assert (np.diff(model.history_) >= -1e-9 * abs(value)).all()
    assert "44 of 612 entries (7.2 %) are missing" in " ".join(model.notes_)


def test_all_rows_labelled_is_discriminant_analysis_of_what_is_there():
    labels = np.arange(len(AIR)) % 2
    model = KMLE(2, family="diagonal-gaussian", prior_strength=0).fit(AIR, labels=labels)
    for j in (0, 1):
        np.testing.assert_allclose(model.mixture_.source["mean"][j], np.nanmean(AIR[labels == j], axis=0), rtol=1e-6)


@pytest.mark.parametrize("family", ["gaussian", "gamma", "diagonal-gaussian"])
def test_batches_with_missing_entries(family):
    model = KMLE(2, family=family, algorithm="online", random_state=0)
    for start in range(0, len(AIR), 51):
        model.partial_fit(AIR[start : start + 51])
    before = model.mixture_
    model.partial_fit(np.full((3, 4), np.nan))
    np.testing.assert_array_equal(model.mixture_.natural, before.natural)
    assert np.isfinite(model.score_samples(AIR)).all()
    reference = KMLE(2, family=family, random_state=0).fit(AIR)
    assert model.score(AIR) > reference.score(AIR) - 0.6


def test_batches_whose_first_one_is_complete():
    whole = AIR[~np.isnan(AIR).any(axis=1)]
    model = KMLE(2, algorithm="online", random_state=0).partial_fit(whole[:60]).partial_fit(AIR)
    assert np.isfinite(model.score_samples(AIR)).all()


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_checkpoints(estimator, tmp_path):
    path = tmp_path / "fit.checkpoint"
    with pytest.warns(UserWarning, match="max_iter"):
        estimator(3, random_state=0, max_iter=2, tol=0).fit(AIR, checkpoint=path)
    resumed = estimator(3, random_state=0, tol=0).fit(AIR, checkpoint=path, resume=True)
    straight = estimator(3, random_state=0, tol=0).fit(AIR)
    assert (np.diff(resumed.history_) >= -1e-9 * abs(resumed.objective_)).all()
    assert resumed.objective_ == pytest.approx(straight.objective_, rel=1e-8)


def test_tables_of_other_libraries():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(AIR, columns=list("abcd"))
    expected = ExponentialFamilyMixture(2, random_state=0).fit(AIR).objective_
    tables = {
        "NaN": frame,
        "nullable": frame.astype("Float64"),
        "None": frame.astype(object).where(frame.notna(), None),
        "NA": frame.astype(object).where(frame.notna(), pandas.NA),
        "objects": np.where(np.isnan(AIR), pandas.NA, AIR.astype(object)),
        "masked": np.ma.masked_invalid(AIR),
        "lists": [[None if np.isnan(value) else value for value in row] for row in AIR.tolist()],
    }
    for name, given in tables.items():
        model = ExponentialFamilyMixture(2, random_state=0).fit(given)
        assert model.objective_ == pytest.approx(expected, rel=1e-12), name
        assert np.isfinite(model.score_samples(given)).all(), name


def test_plots_leave_out_what_is_not_there():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from kmle.plotting import plot_fit, plot_posterior, plot_qq

    model = ExponentialFamilyMixture(2, random_state=0).fit(AIR)
    assert plot_fit(model, AIR).shape == (4, 4)
    ax = plot_fit(model, AIR, columns=[0, 3])
    assert "153 rows, 116 of them shown" in ax.get_title("left") + " ".join(text.get_text() for text in ax.texts)
    plot_qq(model, AIR, columns=[0])
    plot_posterior(model, AIR)
    with pytest.raises(ValueError, match="no row has all of"):
        plot_fit(model, np.array([[1.0, 2.0, 3.0, np.nan], [np.nan, 1.0, 3.0, 4.0]]), columns=[0, 3])
    matplotlib.pyplot.close("all")
