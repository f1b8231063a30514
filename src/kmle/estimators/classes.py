"""What labels and groups add to an estimator: classes, and predictions that use what is known of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ..algorithms import Fit
from ..mixture import Mixture
from ..mixture.intervals import reported
from ..numerics.arrays import Array
from .knowledge import Classes, Knowledge, group_numbers, knowledge_of, label_column, probability_patterns
from .plan import Plan


class ClassPrediction:
    """Classes of components, and rows of which more than their values is known."""

    mixture_: Mixture
    result_: Fit
    _component_classes: Classes | None = None

    def _plan(self) -> Plan:
        raise NotImplementedError

    def _keep_classes(self, fit: Fit, labels: Any, n_rows: int) -> None:
        """Keeps the classes of the components that are left; forgets those of an earlier fit."""
        self._component_classes = None
        for name in ("classes_", "component_classes_"):
            if hasattr(self, name):
                delattr(self, name)
        if labels is None:
            return
        known = knowledge_of(labels, None, n_rows, self._plan()).classes
        if known is not None:
            self._component_classes = known.without(fit.removed)
            self.classes_ = _plain(known.known)
            self.component_classes_ = self._component_classes.of_components

    def _known_scores(self, X: Any, labels: Any, groups: Any) -> Array:
        """log(weights_j p_j) (n, k) of rows, with what labels rule out, and added up within groups."""
        mixture = self.mixture_
        scores = mixture.log_joint(X)
        with np.errstate(divide="ignore"):
            log_weights = np.log(mixture.weights)
        if groups is not None:
            numbers = group_numbers(groups, len(scores))
            with np.errstate(invalid="ignore"):
                densities = np.where(np.isfinite(log_weights), scores - log_weights, 0.0)
            sums = np.zeros((int(numbers.max()) + 1, scores.shape[1]))
            np.add.at(sums, numbers, densities)
            scores = (sums + log_weights)[numbers]
        known = self._knowledge(labels, len(scores))
        if known.codes is not None and known.patterns is not None:
            offsets = np.where((known.codes >= 0)[:, None], known.patterns[known.codes], 0.0)
            if groups is not None:
                lowest = np.zeros((int(numbers.max()) + 1, scores.shape[1]))
                np.minimum.at(lowest, numbers, offsets)
                offsets = lowest[numbers]
            scores = scores + offsets
        empty = ~np.isfinite(scores).any(axis=1)
        if empty.any():
            row = int(np.argmax(empty))
            raise ValueError(f"row {row} has a label, or its group has labels, that no component belongs to")
        return scores

    def _knowledge(self, labels: Any, n_rows: int) -> Knowledge:
        if labels is None:
            return Knowledge()
        table = np.asarray(labels)
        if table.ndim == 2:
            return Knowledge(*probability_patterns(table, n_rows, self.mixture_.n_components))
        classes = self._fitted_classes()
        column = label_column(np.asarray(labels, dtype=object if table.dtype.kind in "USO" else None), n_rows)
        return Knowledge(classes.patterns(), classes.codes(column), classes=classes)

    def _fitted_classes(self) -> Classes:
        check_is_fitted(self, "mixture_")
        classes = self._component_classes
        if classes is None:
            raise ValueError(f"this {type(self).__name__} was fitted without labels: it has no classes")
        return classes

    def predict_class(
        self, X: ArrayLike, *, labels: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> NDArray[Any]:
        """Returns the most probable class of each row, where `fit` had labels.

        Parameters
        ----------
        X : array (n, d) or Intervals
            The rows.
        labels : array (n,) or (n, k), default=None
            Labels of rows whose class is known.
        groups : array (n,), default=None
            Rows of one group share a component.

        Returns
        -------
        array (n,)
            Values of `classes_`; -1 or None for components that are of no class.
        """
        classes = self._fitted_classes()
        shares = reported(self._known_scores(X, labels, groups), "shares")
        values = [*classes.known.tolist(), classes.unknown]
        totals = np.stack(
            [shares[:, [same(own, value) for own in classes.of_components]].sum(axis=1) for value in values], axis=1
        )
        found = np.empty(len(values), dtype=object)
        found[:] = values
        return _plain(found[totals.argmax(axis=1)])


def same(own: Any, value: Any) -> bool:
    """Whether a component is of a class; that of no class is -1 or None."""
    if value is None or value == -1:
        return own is None or own == -1
    return bool(own == value)


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers as such, names as objects."""
    whole = all(isinstance(value, int | np.integer) and not isinstance(value, bool) for value in values.tolist())
    return values.astype(np.int64) if whole and len(values) else values
