"""What the two estimators share: their settings, and `fit`."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from dataclasses import fields, replace
from os import PathLike
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from ..algorithms import Fit
from ..algorithms.state import ITERATION_LIMIT
from ..data.batches import is_dask, is_streamed
from ..families import resolve
from ..numerics.options import whole_number
from .fitted import FittedMixture
from .learn import check_no_checkpoint, learn
from .plan import SOFT, Plan
from .tables import without_noise


class MixtureEstimator(FittedMixture):
    """Settings are stored as scikit-learn wants it; `fit` makes a `Plan` of them and calls `learn`."""

    _algorithms: tuple[str, ...] = ()
    noise: bool
    weights: str | ArrayLike | None
    warm_start: bool

    def fit(
        self,
        X: ArrayLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        labels: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        checkpoint: str | PathLike[str] | None = None,
        resume: bool = False,
    ) -> Self:
        """Fits the mixture.

        Parameters
        ----------
        X : array (n, d), Intervals, CSR array, Dask collection or batches
            The rows; `Intervals` or a `scipy.stats.CensoredData` where values are censored. They may come in chunks: a
            Dask array or DataFrame, a memory map, `Batches`, or an iterable or function that gives batches of rows, or
            pairs of rows and weights.
        y : ignored
            For scikit-learn's pipelines.
        sample_weight : array (n,), default=None
            The weights of the rows; 2 counts a row twice. Weights that sum to less than the number of rows (those of
            positive weight) are relative: they are scaled to sum to it, and scaling all of them changes nothing.
        labels : array (n,) or (n, k), default=None
            Known classes of rows: whole numbers with -1 for unknown ones, or names with None. Or prior probabilities of
            the components for each row, which multiply the weights; only their ratios within a row matter.
        groups : array (n,), default=None
            Rows of one group share a component; a group counts once in the weights.
        checkpoint : path, default=None
            A file to which the state of the fit is written every few seconds.
        resume : bool, default=False
            Whether to continue from the checkpoint, if the file exists. Data and settings must be the same.

        Returns
        -------
        self
        """
        X = self._named_columns(X)
        self._guess = self._guessed(X)
        plan = self._plan()
        if is_streamed(X) and plan.is_online:
            check_no_checkpoint(checkpoint)
            plan.check(sys.maxsize)
            self._fit_stream(X, plan)
            return self
        chunked = is_dask(X) or is_streamed(X)
        rows: Any = X if chunked else self._table(X, resolve(plan.family), reset=True)
        columns = self._names() if not chunked else None
        fit = learn(
            rows,
            plan,
            sample_weight=sample_weight,
            columns=columns,
            checkpoint=checkpoint,
            resume=resume,
            labels=labels,
            groups=groups,
        )
        if labels is not None or self._component_classes is not None:
            self._keep_classes(fit, labels, 0 if chunked or labels is None else len(rows))
        if chunked:
            self._know_columns(fit.mixture.family, getattr(X, "columns", None))
        if self._guess is not None:
            note = f"The family is {self._guess.family.full_name}, as {self._guess.reason}: family= sets another."
            fit = replace(fit, notes=(note, *fit.notes))
        self._take(fit)
        if fit.stop_reason == ITERATION_LIMIT:
            warnings.warn(
                f"The fit reached max_iter={plan.iteration_limit} before it converged: raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _fit_stream(self, X: Any, plan: Plan) -> None:
        raise ValueError(
            f"{type(self).__name__} cannot fit a stream that is read once: use KMLE with algorithm='online'"
        )

    def _plan(self) -> Plan:
        """The settings as `learn` takes them."""
        known = {field.name for field in fields(Plan)}
        settings = {name: value for name, value in vars(self).items() if name in known}
        whole_number("max_iter", settings["max_iter"], 1)
        if isinstance(self.family, Mapping):
            if self._named is None:
                raise ValueError("family names columns: use fit with a pandas or polars DataFrame")
            settings["family"] = self._named.families[0]
        if self._guesses:
            if self._guess is None:
                raise ValueError("family='auto' needs a table in memory, with one number per entry: name a family")
            settings["family"] = self._guess.family
        plan = Plan(**settings, start=getattr(self, "mixture_", None) if self.warm_start else None, soft=self._is_soft)
        if isinstance(plan.algorithm, str) and plan.algorithm not in self._algorithms:
            raise ValueError(
                f"algorithm is {plan.algorithm!r}: for {type(self).__name__} it must be one of "
                f"{', '.join(self._algorithms)}"
            )
        return plan

    @property
    def _is_soft(self) -> bool:
        return self._algorithms == SOFT

    def _take(self, fit: Fit) -> None:
        if self._named is not None:
            fit = replace(fit, mixture=replace(fit.mixture, categories=dict(self._named.levels)))
        self.result_ = fit
        self.mixture_ = fit.mixture
        self.family_ = fit.mixture.family
        self.labels_ = without_noise(fit.mixture, fit.labels)
        self.weights_ = fit.mixture.weights
        self.n_iter_ = fit.n_iter
        self.converged_ = fit.converged
        self.history_ = fit.objectives
        self.objective_ = fit.objective
        self.notes_ = list(fit.notes)
