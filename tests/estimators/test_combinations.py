"""The objective never falls, whatever families, shapes, noise, weights, knowledge and gaps come together."""

import warnings
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

import kmle.families as f
from kmle import Mixture
from kmle.estimators.learn import learn
from kmle.estimators.plan import Plan
from kmle.families.parameterless import Parameterless
from kmle.problem import tailed

EVERYWHERE = f.Uniform(everywhere=True)
# Families that may be components of one mixture, by what their rows are.
POOLS = {
    "positive": [
        *("weibull", "exponential", "gamma", "log-normal", "rayleigh", "inverse-gaussian", "uniform"),
        *(f.Weibull("shared"), f.Weibull(2.0)),
    ],
    "line": [
        *("gaussian", "student-t", "laplace", "generalized-gaussian", "uniform"),
        *(f.Laplace(1.0), f.StudentT("shared"), f.StudentT(3.0)),
        *(f.GeneralizedGaussian("shared"), f.GeneralizedGaussian(1.5), EVERYWHERE),
    ],
    "counts": [
        *("negative-binomial", "poisson", "geometric", "point-mass"),
        *(f.NegativeBinomial("shared"), f.NegativeBinomial(2.0)),
    ],
    "columns": [
        *("student-t", "gaussian", "diagonal-gaussian", "spherical-gaussian", "laplace", "uniform"),
        *(f.StudentT("shared"), f.StudentT(3.0), f.GeneralizedGaussian()),
    ],
    "pairs": [
        *("weibull", "gamma", "exponential", "uniform", f.Weibull("shared")),
    ],
}
FIXED = ("uniform", "point-mass", EVERYWHERE)
DAMAGES = ["none", "none", "rounded", "few values", "extreme", "far away", "equal"]


def rows_of(pool, rng, n):
    """Two groups of rows and a few between them."""
    half = n // 2
    if pool in ("positive", "pairs"):
        shape = (half, 1 if pool == "positive" else 2)
        return np.concatenate([rng.weibull(1.5, shape), 8 * rng.weibull(4.0, shape)]) + 1e-3
    if pool == "counts":
        return np.concatenate([rng.negative_binomial(2, 0.3, half), rng.poisson(20, half)]).astype(float)[:, None]
    d = 1 if pool == "line" else 2
    return np.concatenate([rng.standard_t(2, (half, d)), rng.normal(8, 1, (half, d))])


def damaged(X, damage, pool, rng):
    """The same rows as real tables have them."""
    if damage == "rounded" and pool != "counts":
        return np.ceil(X)
    if damage == "few values":
        return X[rng.integers(0, 4, len(X))]
    if damage == "extreme":
        X = X.copy()
        X[0] = 1e6
    if damage == "far away" and pool in ("line", "columns"):
        return X + 1e6
    if damage == "equal":
        return np.repeat(X[:1], len(X), axis=0)
    return X


@contextmanager
def passes(compiled):
    """Rows in sums of compiled passes wherever there are such, or one by one."""
    with pytest.MonkeyPatch.context() as patch:
        if compiled:
            patch.setattr(tailed, "MANY", 0)
        yield


@st.composite
def combinations(draw):
    """A plan, rows, and what else `learn` is given."""
    pool = draw(st.sampled_from(sorted(POOLS)))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    families = draw(st.lists(st.sampled_from(POOLS[pool]), min_size=1, max_size=3))
    families = [own for i, own in enumerate(families) if own not in FIXED or own not in families[:i]]
    if all(own in FIXED for own in families):
        families.append(POOLS[pool][0])
    alone = len(set(map(str, families))) == 1 and draw(st.booleans())
    noise = draw(st.booleans()) and pool != "counts" and not {"uniform", EVERYWHERE} & set(families)
    k = len(families) + noise
    # Noise over equal rows has no volume, which is refused.
    damages = DAMAGES[: -1 if noise or {"uniform", EVERYWHERE} & set(families) else None]
    damage = draw(st.sampled_from(damages))
    X = damaged(rows_of(pool, rng, draw(st.sampled_from([12, 70]))), damage, pool, rng)
    plan = Plan(
        len(families),
        family=families[0] if alone else families,
        noise=noise,
        algorithm=draw(st.sampled_from(["em", "k-mle", "hard-em", "sparse-em"])),
        weights=draw(st.sampled_from([None, "uniform"])),
        prior_strength=draw(st.sampled_from([1e-3, 1e-3, 0.5])),
        # Without a resolution components that shrink onto values that repeat leave no digits to compare.
        resolution=draw(st.sampled_from(["auto", None])) if damage in ("none", "extreme") else "auto",
        n_init=draw(st.sampled_from(["auto", 1])),
        random_state=0,
        max_iter=60,
    )
    about = {}
    known = draw(st.sampled_from(["nothing", "nothing", "sample_weight", "labels", "groups", "holes"]))
    if known == "sample_weight":
        about[known] = np.where(rng.random(len(X)) < 0.1, 0.0, rng.exponential(size=len(X)))
    if known == "labels":
        about[known] = rng.dirichlet(np.ones(k), len(X))
    if known == "groups":
        about[known] = np.arange(len(X)) // 3
    if known == "holes":
        X = X.copy()
        X[rng.random(X.shape) < 0.2] = np.nan
        X[:2] = np.where(np.isnan(X[:2]), np.nanmax(X), X[:2])
    return plan, X, about


@settings(max_examples=60)
@given(combinations(), st.booleans())
def test_the_objective_never_falls(combination, compiled):
    check(combination, compiled)


def likelihood(fit, X, sample_weight=None, labels=None, groups=None):
    """The log-likelihood of rows by the densities of a mixture, from what is known of them."""
    mixture = fit.mixture
    if labels is not None:
        known = np.delete(np.log(labels / labels.max(axis=1, keepdims=True)), fit.removed, axis=1)
        return logsumexp(mixture.log_joint(X) + known, axis=1).sum()
    if groups is not None:
        alone = mixture.log_joint(X) - np.log(mixture.weights)
        together = np.add.reduceat(alone, np.unique(groups, return_index=True)[1])
        return logsumexp(together + np.log(mixture.weights), axis=1).sum()
    density, weights = mixture.log_density(X), np.ones(len(X)) if sample_weight is None else sample_weight
    weights = weights * ~np.isnan(X).all(axis=1)  # rows without entries say nothing
    return fit.n / weights.sum() * float(weights[weights > 0] @ density[weights > 0])


def check(combination, compiled):
    """A fit of one combination: it climbs, and its parts agree with each other."""
    plan, X, about = combination
    with passes(compiled), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        fit = learn(X, plan, **about)
    objectives = np.array([step.objective for step in fit.history])
    assert np.isfinite(objectives).all()
    assert (np.diff(objectives) >= -1e-9 * np.maximum(1.0, np.abs(objectives[:-1]))).all()
    assert fit.mixture.n_components <= plan.n_components
    assert Mixture.from_json(fit.mixture.to_json()) == fit.mixture
    # Narrow components are scored to fewer digits where a resolution allows them, or beside labels and groups.
    rel = 1e-9 if plan.resolution == "auto" and about.keys() <= {"sample_weight"} else 1e-5
    assert fit.log_likelihood == pytest.approx(likelihood(fit, X, **about), rel=rel, abs=1e-6)
    if about.keys() <= {"sample_weight"}:
        np.testing.assert_array_equal(fit.labels, fit.mixture.predict(X))
    for member in fit.mixture.members:
        if not isinstance(member.family, Parameterless):
            assert np.isfinite(member.natural).all()
