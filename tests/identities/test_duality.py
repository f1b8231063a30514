"""F and F* are convex conjugates, with the natural and the moment parameter as each other's gradients."""

import numpy as np
import pytest

from cases import CASES, case_id, for_all


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_the_two_potentials_add_up_to_the_inner_product(case):
    def fenchel_equality(natural):
        moment = case.family.moment_from_natural(natural)
        both = case.family.log_normalizer(natural) + case.family.conjugate(moment)
        np.testing.assert_allclose(both, (natural * moment).sum(axis=-1), rtol=1e-10, atol=1e-10)

    for_all(case.dists(), fenchel_equality)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_no_other_law_reaches_the_conjugate(case):
    """F*(eta) is the largest value of <theta, eta> - F(theta): any second law stays below."""

    def fenchel_inequality(natural):
        moment = case.family.moment_from_natural(natural)
        reached = moment @ natural.T - case.family.log_normalizer(natural)
        highest = case.family.conjugate(moment)
        assert np.all(reached <= (highest + 1e-10 * (1 + np.abs(highest)))[:, None])

    for_all(case.dists(), fenchel_inequality)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_the_potentials_are_convex(case):
    """On the way from one law to another both lie below their chords."""

    def below_the_chord(natural):
        moment = case.family.moment_from_natural(natural)
        for potential, ends in ((case.family.log_normalizer, natural), (case.family.conjugate, moment)):
            chords = 0.5 * (potential(ends[:4]) + potential(ends[4:]))
            middle = potential(0.5 * (ends[:4] + ends[4:]))
            assert np.all(middle <= chords + 1e-10 * (1 + np.abs(chords)))

    for_all(case.dists(), below_the_chord)
