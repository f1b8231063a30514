"""`MixtureClassifier`: a mixture per class, and Bayes' rule.

With one component per class it is discriminant analysis (see `discriminant`), with more mixture discriminant analysis
(Hastie and Tibshirani 1996; MclustDA, Fraley and Raftery 2002).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y, check_is_fitted

from .._kernels import has_missing
from ..families.validation import issparse
from ..mixture import Mixture
from ..mixture.densities import of_rows
from ..numerics.arrays import Array
from ..numerics.special import log_sum_exp
from .arguments import threads_of
from .by_criterion import n_statistics
from .discriminant import discriminant
from .family_candidates import Families
from .plugged_in import PluggedIn, is_number
from .tables import names_in


class MixtureClassifier(ClassifierMixin, PluggedIn):  # type: ignore[misc]
    """Classification by a mixture per class.

    Parameters
    ----------
    n_components : int, "auto" or several numbers, default="auto"
        The number of components of each class. "auto" tries 1 to 5, no more than there are rows to estimate their
        parameters, and keeps, class by class, the lowest BIC. With 1 all classes are estimated together, so that they
        share what the family shares: "gaussian-eee" is linear, "gaussian" quadratic discriminant analysis.
    family : str, ExponentialFamily, mapping or several of them, default="gaussian"
        The exponential family. Of several BIC chooses: for each class, or with one component per class for all of
        them. "gaussians" stands for all covariance models, "gaussian-eii" to "gaussian-vvv". A mapping names columns of
        a DataFrame, such as {"visits": "poisson", ("x", "y"): "gaussian", "town": "categorical"}.
    priors : None, "uniform" or array (n_classes,), default=None
        The probabilities of the classes, in the order of `classes_`; None takes their shares in the data.
    reject : float or None, default=None
        A probability: `predict` gives `reject_label` to rows whose most probable class is less probable (Chow 1970).
    reject_label : object, default=None
        The label of rejected rows; None is -1 for numbers and "rejected" for text.
    prior_strength : float, default=1e-3
        Pseudo-observations at the mean of the class in every component, with several components per class.
    resolution : "auto", None, float or array (d,), default="auto"
        The rounding steps of the columns, as in `ExponentialFamilyMixture`.
    n_jobs : int or None, default=None
        The number of threads. None is as many as scikit-learn's OpenMP code would use, -1 is all cores.
    random_state : int, RandomState, Generator or None, default=None
        The seed of all random draws.

    Attributes
    ----------
    classes_ : array (n_classes,)
        The classes.
    priors_ : array (n_classes,)
        Their probabilities.
    mixtures_ : list of Mixture
        The mixture of each class.
    notes_ : list of str
        Reasons to doubt the fit.

    Examples
    --------
    >>> X = [[1.0], [1.4], [0.7], [6.0], [6.5], [5.6]]
    >>> model = MixtureClassifier(n_components=1).fit(X, ["low", "low", "low", "high", "high", "high"])
    >>> model.predict([[0.0], [7.0]])
    array(['low', 'high'], dtype='<U4')
    """

    _most_components = 5

    def __init__(
        self,
        n_components: int | str | Iterable[int] = "auto",
        *,
        family: Families = "gaussian",
        priors: str | ArrayLike | None = None,
        reject: float | None = None,
        reject_label: Any = None,
        prior_strength: float = 1e-3,
        resolution: str | float | ArrayLike | None = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.family = family
        self.priors = priors
        self.reject = reject
        self.reject_label = reject_label
        self.prior_strength = prior_strength
        self.resolution = resolution
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fits a mixture to the rows of each class.

        Parameters
        ----------
        X : array (n, d) or CSR array
            The rows.
        y : array (n,)
            The class of each row.
        sample_weight : array (n,), default=None
            The weights of the rows; 2 counts a row twice, and rows of weight zero are left out.

        Returns
        -------
        self
        """
        self._check_reject()
        self._check_target(y, "class")
        table = self._new_table(X)
        targets = _check_y(y, multi_output=False, y_numeric=False, estimator=self)
        check_classification_targets(targets)
        self._check_lengths(table.shape[0], targets, "class")
        weights = self._row_weights(sample_weight, len(targets))
        if weights is not None and not weights.all():
            used = weights > 0
            table, targets, weights = table[used], targets[used], weights[used]
        self._check_support(table)
        self.classes_, labels = np.unique(targets, return_inverse=True)
        counts = np.bincount(labels, weights)
        self.priors_ = self._priors(counts / counts.sum())
        if self._sizes(table.shape) == [1]:
            self._fit_together(table, labels, weights)
        else:
            self._fit_one_by_one(table, labels, weights)
        return self

    def _fit_together(self, table: Array, labels: NDArray[np.intp], weights: Array | None) -> None:
        """One component per class."""
        self._check_entries(table, labels)
        together = discriminant(table, labels, self._families, self._plan(), weights, names_in(self))
        self.mixtures_ = [together.component(label) for label in range(len(self.classes_))]
        needed = 0 if together.family.joint else n_statistics(together.family, table.shape[1])
        self.notes_ = [
            f"class {name} has {count} rows for {needed} parameters: its probabilities are not reliable; "
            "a family with fewer parameters, such as 'gaussian-eee', needs fewer rows"
            for name, count in zip(self.classes_, np.bincount(labels), strict=True)
            if count < needed
        ]

    def _check_entries(self, table: Array, labels: NDArray[np.intp]) -> None:
        """Refuses classes that lack all entries of a column."""
        if issparse(table) or not has_missing(table):
            return
        for label, name in enumerate(self.classes_):
            missing = np.isnan(table[labels == label]).all(axis=0)
            if missing.any():
                place = int(np.argmax(missing))
                column = place if names_in(self) is None else repr(self.feature_names_in_[place])
                raise ValueError(
                    f"class {name}: column {column} has no entry, all its values are missing: drop the column"
                )

    def _fit_one_by_one(self, table: Array, labels: NDArray[np.intp], weights: Array | None) -> None:
        """A mixture per class, each with the number of components that BIC prefers."""
        self.mixtures_ = []
        notes: list[Sequence[str]] = []
        for label, name in enumerate(self.classes_):
            own = labels == label
            try:
                fit = self._learned(table[own], None if weights is None else weights[own], names_in(self))
            except ValueError as error:
                raise ValueError(f"class {name}: {error}") from None
            self.mixtures_.append(fit.mixture)
            notes.append(fit.notes)
        common = set(notes[0]).intersection(*notes)
        self.notes_ = [note for note in notes[0] if note in common] + [
            f"class {name}: {note}"
            for name, own in zip(self.classes_, notes, strict=True)
            for note in own
            if note not in common
        ]

    def _priors(self, shares: Array) -> Array:
        if self.priors is None:
            return shares
        if isinstance(self.priors, str):
            if self.priors != "uniform":
                raise ValueError(f"priors is {self.priors!r}: it must be None, 'uniform' or {len(shares)} numbers")
            return np.full(len(shares), 1 / len(shares))
        try:
            priors = np.asarray(self.priors, dtype=float)
        except (TypeError, ValueError):
            priors = np.array(np.nan)
        if priors.shape != shares.shape or not np.all(priors >= 0) or not abs(priors.sum() - 1) < 1e-6:
            raise ValueError(f"priors must be {len(shares)} numbers, one per class, that sum to one")
        return priors / priors.sum()

    def _check_reject(self) -> None:
        if self.reject is not None and not (is_number(self.reject) and 0 <= self.reject <= 1):
            raise ValueError(f"reject is {self.reject!r}: it must be None or a probability from 0 to 1")

    # Prediction -------------------------------------------------------------------------------------------------------

    def _log_joint(self, X: ArrayLike) -> Array:
        """log(prior density) of each class, (n, n_classes)."""
        check_is_fitted(self, "mixtures_")
        table = self._table(X, self.mixtures_[0].family)
        n_threads, columns = threads_of(self.n_jobs), names_in(self)
        joint = np.empty((table.shape[0], len(self.mixtures_)))
        with np.errstate(divide="ignore"):
            log_priors = np.log(self.priors_)
        if all(mixture.n_components == 1 and mixture.family == self.mixtures_[0].family for mixture in self.mixtures_):
            together = Mixture.combine(self.mixtures_, self.priors_)
            return of_rows(together, "scores", table, n_threads, columns)
        for place, mixture in enumerate(self.mixtures_):
            joint[:, place] = of_rows(mixture, "log_sums", table, n_threads, columns) + log_priors[place]
        return joint

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Returns the logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array (n, d) or CSR array
            The rows.

        Returns
        -------
        array (n, n_classes)
            The logarithms.
        """
        joint = self._log_joint(X)
        return joint - log_sum_exp(joint)[:, None]

    def predict_proba(self, X: ArrayLike) -> Array:
        """Returns the probabilities of the classes.

        Parameters
        ----------
        X : array (n, d) or CSR array
            The rows.

        Returns
        -------
        array (n, n_classes)
            The probabilities.
        """
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Returns the most probable class of each row, or `reject_label` where it is not probable enough.

        Parameters
        ----------
        X : array (n, d) or CSR array
            The rows.

        Returns
        -------
        array (n,)
            The classes.
        """
        joint = self._log_joint(X)
        labels = self.classes_[joint.argmax(axis=1)]
        if self.reject is None:
            return labels
        self._check_reject()
        rejected = np.exp(joint.max(axis=1) - log_sum_exp(joint)) < self.reject
        text = self.classes_.dtype.kind not in "iufb"
        label = ("rejected" if text else -1) if self.reject_label is None else self.reject_label
        return np.where(rejected, np.asarray(label), labels)

    def score_samples(self, X: ArrayLike) -> Array:
        """Returns the log-density of each row, whatever its class: low for rows that no class explains.

        Parameters
        ----------
        X : array (n, d) or CSR array
            The rows.

        Returns
        -------
        array (n,)
            The log-densities.
        """
        return log_sum_exp(self._log_joint(X))
