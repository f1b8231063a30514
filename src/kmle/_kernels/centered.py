"""Components by their means, for scores without products of columns."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Array = NDArray[np.floating[Any]]

LOWEST = float(np.finfo(np.float64).min)


@dataclass(frozen=True)
class Centered:
    """Scores constant_j - |L_j^T (x - mean_j)|^2 / 2 + <y, linear_j>, x and y being columns of packed rows.

    Products of columns lose the digits of components that are narrow for their distance from the center, and of rows
    that are far away; differences keep them. `mean` is (k, c), `constant` (k,), -inf for an inactive component, and
    `factor` the diagonals of L, (k, c), or lower triangles (k, c, c), or those packed column after column. x are the
    first c columns unless `places` are given, y those at `linear_places`. Scores with packed statistics are the same,
    or higher by half the squares of those entries of L^T x that are `carried` (all, none, or one truth each). For
    these, L is the same for all components and has no entries in columns that are not.

    >>> Centered(np.array([[0.0], [2.0]]), np.array([[1.0], [3.0]]), np.zeros(2)).scores(np.array([[1.0]]))
    array([[-0.5, -4.5]])
    """

    mean: Array
    factor: Array
    constant: Array
    carried: bool | tuple[bool, ...] = False
    linear: Array | None = None
    places: tuple[int, ...] | None = None
    linear_places: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        k, c = self.mean.shape
        if self.factor.ndim == 3:
            places = np.triu_indices(self.factor.shape[-1])
            object.__setattr__(self, "factor", np.swapaxes(self.factor, 1, 2)[:, places[0], places[1]])
        if self.factor.shape[1] not in (c, c * (c + 1) // 2) or len(self.factor) != k:
            raise ValueError(f"factors of shape {self.factor.shape} do not fit means of shape {self.mean.shape}.")
        if self.places is None:
            object.__setattr__(self, "places", tuple(range(c)))
        if self.linear is None:
            object.__setattr__(self, "linear", np.zeros((k, 0)))
        if isinstance(self.carried, bool):
            object.__setattr__(self, "carried", (self.carried,) * c)

    @property
    def n_columns(self) -> int:
        """How many columns rows have at least."""
        return 1 + max((*self._places, *self.linear_places), default=-1)

    @property
    def is_carried(self) -> bool:
        """Whether scores with packed statistics are higher than these."""
        return any(self._carried)

    @property
    def is_finite(self) -> bool:
        """Whether there are no components outside the family, but for inactive ones."""
        parts = self.mean, self.factor, self._linear, self.constant[:, None]
        return all(np.isfinite(part[~np.isneginf(self.constant)]).all() for part in parts)

    @property
    def triangles(self) -> Array:
        """L (k, c, c)."""
        k, c = self.mean.shape
        lower = np.zeros((k, c, c))
        places = np.diag_indices(c) if self.factor.shape[1] == c else np.triu_indices(c)[::-1]
        lower[:, places[0], places[1]] = self.factor
        return lower

    def with_constant(self, constant: Array) -> "Centered":
        """The same components with other constants."""
        return replace(self, constant=constant)

    def take(self, places: slice | NDArray[np.intp]) -> "Centered":
        """Some of the components."""
        mean, factor, constant = self.mean[places], self.factor[places], self.constant[places]
        return replace(self, mean=mean, factor=factor, constant=constant, linear=self._linear[places])

    def spread_over(self, places: NDArray[np.intp], n_components: int) -> "Centered":
        """The components at these places among `n_components`; the others are inactive."""
        if len(places) == n_components:
            return self
        chosen = np.zeros(n_components, dtype=np.intp)
        chosen[places] = np.arange(len(places))
        constant = np.full(n_components, -np.inf)
        constant[places] = self.constant
        return self.take(chosen).with_constant(constant)

    def scores(self, columns: NDArray[Any]) -> Floats:
        """The scores (n, k) of rows: in a fixed order of operations, as when compiled."""
        x = columns[:, self._places].astype(np.float64)
        others = columns[:, self.linear_places].astype(np.float64)
        scores = np.full((len(x), len(self.mean)), -np.inf)
        with np.errstate(over="ignore", invalid="ignore"):
            for j in np.flatnonzero(self.constant >= LOWEST):
                score = self.constant[j] - 0.5 * _squares(x - self.mean[j], self.factor[j])
                for column, coefficient in zip(others.T, self._linear[j], strict=True):
                    score += coefficient * column
                scores[:, j] = np.where(score > LOWEST, score, LOWEST)
        return scores

    def half_squares(self, columns: NDArray[Any]) -> Floats:
        """Half the squares of the carried entries of L^T x (n,) of rows, with the L of the first active component."""
        x = columns[:, self._places].astype(np.float64)
        first = np.flatnonzero(self.constant >= LOWEST)[0]
        return np.asarray(0.5 * _squares(x, self.factor[first], self._carried))

    def compiled(self, backend: Any) -> Any:
        """The same for the passes of the compiled module."""
        parts = self.mean, self.factor, self.constant, self._linear
        arrays = (np.ascontiguousarray(part, dtype=np.float64) for part in parts)
        return backend.CenteredForm(*arrays, list(self._places), list(self.linear_places), list(self._carried))

    @property
    def _carried(self) -> tuple[bool, ...]:
        assert not isinstance(self.carried, bool)  # they are written out
        return self.carried

    @property
    def _places(self) -> tuple[int, ...]:
        assert self.places is not None  # they are filled in
        return self.places

    @property
    def _linear(self) -> Array:
        assert self.linear is not None  # likewise
        return self.linear


def side_by_side(forms: Sequence[Centered], n_columns: Sequence[int]) -> Centered:
    """Components on independent blocks of columns, `n_columns` wide: the sums of their scores."""
    firsts = np.cumsum([0, *n_columns[:-1]]).tolist()
    widths = np.cumsum([0, *(form.mean.shape[1] for form in forms)])
    if all(form.factor.shape == form.mean.shape for form in forms):
        factor = np.hstack([form.factor for form in forms])
    else:
        factor = np.zeros((len(forms[0].mean), widths[-1], widths[-1]))
        for form, start, end in zip(forms, widths, widths[1:], strict=False):
            factor[:, start:end, start:end] = form.triangles
    return Centered(
        np.hstack([form.mean for form in forms]),
        factor,
        np.sum([form.constant for form in forms], axis=0),
        carried=tuple(carried for form in forms for carried in form._carried),
        linear=np.hstack([form._linear for form in forms]),
        places=tuple(first + place for form, first in zip(forms, firsts, strict=True) for place in form._places),
        linear_places=tuple(
            first + place for form, first in zip(forms, firsts, strict=True) for place in form.linear_places
        ),
    )


def _squares(differences: Array, factor: Array, only: Sequence[bool] | None = None) -> Floats:
    """|L^T difference|^2 of every row (n,), one term after the other; or of some of the entries only."""
    c = differences.shape[1]
    step = 1 if len(factor) == c else c
    total, place = np.zeros(len(differences)), 0
    for b in range(c):
        u = factor[place] * differences[:, b]
        for a in range(b + 1, min(b + step, c)):
            u += factor[place + a - b] * differences[:, a]
        place += min(step, c - b)
        if only is None or only[b]:
            total += u * u
    return total
