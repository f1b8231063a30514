"""Too many components are noticed; as many as there are, are not."""

import numpy as np
import pytest

from kmle import KMLE, Mixture
from kmle.inspection import diagnose, overfitting


def three_clusters(n=600):
    dist = Mixture.from_source(
        "gaussian", [0.3, 0.3, 0.4], mean=[[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], covariance=[np.eye(2)] * 3
    )
    return dist.sample(n, 0)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_as_many_as_there_are_or_fewer_are_not_too_many(k):
    X = three_clusters()
    model = KMLE(k, random_state=0).fit(X)
    assert overfitting(model.mixture_, X, model.labels_) is None


def test_a_cluster_cut_in_two_would_better_be_merged():
    X = three_clusters()
    model = KMLE(3, random_state=0).fit(X)
    own = X[model.labels_ == 0]
    low = own[:, 1] < np.median(own[:, 1])
    parts = [own[low], own[~low], *(X[model.labels_ == j] for j in (1, 2))]
    mixture = Mixture.from_source(
        "gaussian",
        [len(part) / len(X) for part in parts],
        mean=[part.mean(axis=0) for part in parts],
        covariance=[np.cov(part.T) for part in parts],
    )
    labels = np.repeat(np.arange(4), [len(part) for part in parts])
    message = overfitting(mixture, np.concatenate(parts), labels)
    assert message.startswith("merging components 0 and 1 would lower the ICL")


def test_the_verdict_does_not_depend_on_where_zero_is():
    X = np.random.default_rng(0).normal(size=(300, 1)) + np.repeat([[0.0], [4.0]], 150, axis=0) + 2.0**33
    for family in ("gaussian", "spherical-gaussian"):
        model = KMLE(2, family=family, random_state=0).fit(X)
        assert overfitting(model.mixture_, X, model.labels_) is None


def test_few_rows_are_named():
    X = three_clusters(60)
    model = KMLE(14, random_state=0).fit(X)
    message = overfitting(model.mixture_, X, model.labels_)
    assert "fewer than 6 rows" in message or "free parameters for 60 rows" in message


def test_well_apart_is_not_said_of_an_overfitted_model():
    X = three_clusters(60)
    assert "The components are well separated" in str(diagnose(KMLE(3, random_state=0).fit(X), X))
    message = str(diagnose(KMLE(14, random_state=0).fit(X), X))
    assert "well separated" not in message
    assert "There may be too many components" in message
