"""Counts that vary far more than Poisson distributions do."""

import numpy as np
import pytest

from kmle import Mixture, select

OVERDISPERSED = np.random.default_rng(0).negative_binomial(1.5, 0.1, (300, 1)).astype(float)


def test_poisson_components_that_follow_a_negative_binomial_distribution_are_noted():
    note = next(note for note in select(OVERDISPERSED, "poisson", range(1, 6), random_state=0).notes if "vary" in note)
    both = select(OVERDISPERSED, ["poisson", "negative-binomial"], range(1, 6), random_state=0)
    first, second = (
        min(c.criteria.bic for c in both.ranking if c.name == name) for name in ("negative-binomial", "poisson")
    )
    assert "negative binomial" in note
    assert f"better by {second - first:.2f} of bic" in note
    assert not any("negative binomial" in note for note in both.notes)


@pytest.mark.parametrize("rates", [[4.0, 4.0], [3.0, 40.0]])
def test_mixtures_of_poisson_distributions_are_not(rates):
    X = Mixture.from_source("poisson", [0.5, 0.5], rate=rates).sample(300, random_state=0)
    assert not any("negative binomial" in note for note in select(X, "poisson", range(1, 4), random_state=0).notes)


def test_with_missing_entries_and_weights():
    X = np.column_stack([OVERDISPERSED, OVERDISPERSED[::-1]])
    X[:7, 1] = np.nan
    notes = select(X, "poisson", range(1, 3), sample_weight=np.arange(300) % 3, random_state=0).notes
    assert any("negative binomial" in note for note in notes)
