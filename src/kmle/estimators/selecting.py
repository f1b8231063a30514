"""`select`: which family, and how many components."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

from numpy.typing import ArrayLike

from ..algorithms import Fit
from ..selection.candidates import Selection
from .by_name import named_families
from .comparison import Progress, compared
from .family_candidates import Families
from .plan import Plan


def select(
    X: ArrayLike,
    families: Families | None = None,
    n_components: Iterable[int] | int = range(1, 11),
    criterion: str = "bic",
    *,
    algorithm: str = "em",
    n_init: int | str = "auto",
    sample_weight: ArrayLike | None = None,
    prior_strength: float = 1e-3,
    resolution: str | float | ArrayLike | None = "auto",
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: bool | Progress | None = None,
    verbose: int = 0,
) -> Selection:
    """Selects the family and the number of components with the lowest criterion.

    Every candidate is fitted as the estimator would fit it with the same arguments, so it does not depend on the other
    candidates. (Four or more covariance models of Gaussians are the exception: they are fitted together.) Columns that
    are constant or exact combinations of others are excluded from the comparison;
    `best_estimator` is fitted to all columns.

    Parameters
    ----------
    X : array (n, d)
        The rows.
    families : names or ExponentialFamily objects, default=None
        The families to compare, with comparable likelihoods; None takes the usual ones for the data. "gaussians" stands
        for the fourteen covariance models of Gaussians, which share their starts. A family that does not support the
        data is omitted with a note. With a pandas or polars DataFrame mappings such as {"visits": "poisson",
        ("x", "y"): "gaussian"} name the columns of each family; all must name the same columns.
    n_components : int or iterable of int, default=range(1, 11)
        The numbers of components.
    criterion : "aic", "aicc", "bic" or "icl", default="bic"
        The criterion; lower is better.
    algorithm : str, default="em"
        The algorithm of every fit, as in the estimators.
    n_init : int or "auto", default="auto"
        The starts of each candidate, as in the estimators.
    sample_weight : array (n,), default=None
        The weights of the rows; 2 counts a row twice.
    prior_strength : float, default=1e-3
        The strength of the prior, in pseudo-observations.
    resolution : "auto", None, float or array (d,), default="auto"
        The rounding steps of the columns, as in the estimators.
    n_jobs : int or None, default=None
        The number of threads. None is as many as scikit-learn's OpenMP code would use, -1 is all cores. The answer does
        not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        The seed of all random draws.
    progress : bool or callable, default=None
        True shows a line on stderr. A function is called with (steps done, steps in all, candidate); if it returns
        False, the selection stops with the best candidate so far.
    verbose : int, default=0
        Whether to print a line for every step.

    Returns
    -------
    Selection
        The candidates, the best one and its estimator, and notes: the best number of components is at the edge of the
        range, or a fit missed a better optimum.

    Examples
    --------
    >>> from kmle import Mixture
    >>> X = Mixture.from_source("poisson", [0.4, 0.6], rate=[3.0, 40.0]).sample(500, random_state=0)
    >>> chosen = select(X, ("poisson", "geometric"), range(1, 4), random_state=0)
    >>> chosen.best.name, chosen.best.n_components
    ('poisson', 2)
    """
    plan = Plan(
        1,
        algorithm=algorithm,
        n_init=n_init,
        prior_strength=prior_strength,
        resolution=resolution,
        n_jobs=n_jobs,
        random_state=random_state,
        verbose=verbose,
    )
    if isinstance(families, Iterable) and not isinstance(families, str | Mapping):
        families = list(families)
    named = named_families(families, X)
    if named is not None:
        X, families = named.frame(X), named.families
    columns = names_of(X)
    found = compared(
        X, families, n_components, criterion, plan, sample_weight=sample_weight, progress=progress, columns=columns
    )
    best = fitted_estimator(found.plan, found.fit, columns)
    if named is not None:
        best._know_names(named.only(found.plan.family))
        best._take(found.fit)
    return replace(found.selection, best_estimator=best)


def names_of(X: Any) -> list[str] | None:
    """The names of the columns of a data frame, as scikit-learn takes them: only where all are text."""
    from sklearn.utils.validation import _get_feature_names

    names = _get_feature_names(X)
    return None if names is None else [str(name) for name in names]


def fitted_estimator(plan: Plan, fit: Fit, columns: list[str] | None) -> Any:
    """The estimator that would have found this fit."""
    from .kmle import KMLE
    from .mixture_model import ExponentialFamilyMixture

    kind: type[Any] = KMLE if plan.hard else ExponentialFamilyMixture
    known = kind().get_params()
    settings = {field.name: getattr(plan, field.name) for field in fields(Plan) if field.name in known}
    if plan.max_iter is None:
        del settings["max_iter"]
    model = kind(**settings)
    model._know_columns(fit.mixture.family, columns)
    model._take(fit)
    return model
