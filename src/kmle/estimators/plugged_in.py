"""What classifier, regressor, outlier detector and imputer share: settings, tables and the fit that BIC prefers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from ..algorithms import Fit
from ..families import ExponentialFamily, Product, resolve
from ..families.validation import check_sample_weight
from ..numerics.arrays import Array
from .arguments import weights_of
from .by_criterion import Sizes, first_of, learn_by_bic, listed_families, sizes_of
from .by_name import NamedFamilies, named_families
from .family_candidates import Families
from .plan import Plan
from .prepare import check_rows
from .tables import names_in, table_of


class PluggedIn(BaseEstimator):  # type: ignore[misc]
    """An estimator with the settings `n_components`, `family`, `prior_strength`, `resolution`, `n_jobs` and
    `random_state`.
    """

    n_components: Sizes
    family: Families
    prior_strength: float
    resolution: str | float | ArrayLike | None
    n_jobs: int | None
    random_state: Any

    _most_components: ClassVar[int] = 10
    """The largest number of components that "auto" tries."""

    def _plan(self) -> Plan:
        return Plan(
            1,
            prior_strength=self.prior_strength,
            resolution=self.resolution,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )

    _named: NamedFamilies | None = None

    @property
    def _families(self) -> Families:
        """The families of the columns of a table."""
        return self.family if self._named is None else self._named.families

    def _new_table(self, X: ArrayLike) -> Array:
        """X as a table of floats, whose columns the estimator takes."""
        self._named = named_families(self.family, X)
        return self._table(X, first_of(self._families), reset=True)

    def _table(self, X: ArrayLike, family: ExponentialFamily, reset: bool = False) -> Array:
        """X as a table of floats with the columns of the estimator; where families name columns, with those."""
        return table_of(self, X if self._named is None else self._named.frame(X), family, reset)

    def _check_support(self, table: Array) -> None:
        """Refuses values outside the support of the only family; of several, those that hold the data take part."""
        few = listed_families(self._families, table)
        if len(few) == 1:
            check_rows(table, few[0], None, names_in(self))

    def _row_weights(self, sample_weight: ArrayLike | None, n_rows: int) -> Array | None:
        return check_sample_weight(weights_of(sample_weight, n_rows), n_rows)

    def _sizes(self, shape: tuple[int, ...]) -> list[int]:
        """The numbers of components to try for rows of this shape."""
        return sizes_of(self.n_components, self._most_components, self._families, shape)

    def _learned(self, table: Array, weights: Array | None, columns: Sequence[str] | None) -> Fit:
        """The fit that BIC prefers, or the only one asked for."""
        return learn_by_bic(table, self._families, self._sizes(table.shape), self._plan(), weights, columns)

    def _check_lengths(self, n_rows: int, y: Any, each: str) -> None:
        if len(y) != n_rows:
            raise ValueError(f"X has {n_rows} rows but y has {len(y)}: give one {each} per row")

    def _check_target(self, y: Any, each: str) -> None:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: give one {each} per row"
            )

    @property
    def _first_family(self) -> ExponentialFamily | None:
        """A family that says how data is read; None where `fit` will refuse it."""
        try:
            return first_of(_without_names(self.family))
        except (TypeError, ValueError):
            return None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        family = self._first_family
        tags.input_tags.sparse = family is not None and family.sparse
        tags.input_tags.allow_nan = family is not None and family.takes_missing
        return tags


def _without_names(families: Any) -> Any:
    """The families, those by the names of columns as one family that reads tables as they would."""
    if isinstance(families, Mapping):
        return Product(tuple(resolve(family) for family in families.values()))
    if isinstance(families, Sequence) and not isinstance(families, str):
        return [_without_names(family) for family in families]
    return families


def is_number(value: Any) -> bool:
    """Whether a setting is a finite number, and not a truth value."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool | np.bool_)
