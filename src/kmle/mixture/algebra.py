"""Other mixtures made of one: marginals, conditionals, components, combinations, affine maps, SciPy distributions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .._kernels import has_missing
from ..families import (
    ComponentFamilies,
    DiagonalGaussian,
    ExponentialFamily,
    FixedCovarianceGaussian,
    Gaussian,
    SphericalGaussian,
    StudentT,
)
from ..numerics.arrays import Array
from ..queries import moments
from ..queries.columns import Column, column_places, other_places
from ..queries.conditionals import conditional, conditional_by_pattern
from ..queries.marginals import marginal, marginal_rows
from .conditional import ConditionalMixtures
from .densities import Densities

if TYPE_CHECKING:
    from ..families.member import Member
    from .mixture import Mixture

# Columns and their values: a mapping, or a table of pandas or Polars.
Known = Mapping[Column, ArrayLike] | Any
GAUSSIANS = (Gaussian, DiagonalGaussian, SphericalGaussian, FixedCovarianceGaussian)


class Algebra(Densities):
    """Mixtures that follow from a mixture."""

    columns: tuple[str, ...] | None

    if TYPE_CHECKING:

        @property
        def members(self) -> list[Member]:
            """See `Mixture`."""

    def _made(
        self, family: ExponentialFamily, weights: Array, natural: Array, columns: Sequence[str] | None = None
    ) -> Self:
        return type(self)(family, weights, natural, columns)  # type: ignore[call-arg]

    def _names(self, places: Sequence[int], family: ExponentialFamily) -> tuple[str, ...] | None:
        """The names of columns that are those of `family`; None where there is one of the rest beside them."""
        if self.columns is None or family.n_features != len(places):
            return None
        return tuple(self.columns[place] for place in places)

    def with_columns(self, columns: Sequence[str] | None) -> Self:
        """Returns the same mixture with these names of the columns.

        Parameters
        ----------
        columns : sequence of str or None
            One name per column.

        Returns
        -------
        Mixture
            The mixture.
        """
        return self._made(self.family, self.weights, self.natural, columns)

    def component(self, index: int) -> Self:
        """Returns one component as a mixture of its own.

        Parameters
        ----------
        index : int
            The component, from 0.

        Returns
        -------
        Mixture
            A mixture of one component; `to_scipy` makes a SciPy distribution of it.
        """
        k = len(self.weights)
        if not isinstance(index, int | np.integer) or not -k <= index < k:
            raise ValueError(f"there is no component {index!r}: the indices go from 0 to {k - 1}")
        own = self.members[index]
        return self._made(own.family, np.ones(1), own.natural, self.columns)

    def marginal(self, columns: Column | Iterable[Column]) -> Self:
        """Returns the mixture of some columns.

        Parameters
        ----------
        columns : index or name, or a list of them
            The columns, in the order of the outcome. A Dirichlet or multinomial of several columns keeps one more, the
            sum of the others; of one column it is a beta or binomial.

        Returns
        -------
        Mixture
            The mixture of these columns.

        Examples
        --------
        >>> from kmle import Mixture
        >>> Mixture.from_source("poisson", [0.5, 0.5], rate=[[1.0, 2.0], [3.0, 4.0]]).marginal(1)
        Mixture of 2 poisson: weights=[0.5 0.5], rate=[[2.0], [4.0]]
        """
        places = column_places(columns, self.columns, self.family.n_features or 1)
        family, natural = marginal(self.family, self.natural, places)
        return self._made(family, self.weights, natural, self._names(places, family))

    def condition(self, known: Known) -> Mixture | ConditionalMixtures:
        """Returns the mixture of the other columns given values of some.

        Parameters
        ----------
        known : mapping of columns, by index or name, to values; or a table
            A number for each column, or an array (n,) for each: one value per row. A table has the known columns by
            name. Rows that lack values (NaN) are conditioned on those they have, where the family allows it.

        Returns
        -------
        Mixture or ConditionalMixtures
            The mixture of the other columns, in their order; of arrays, one mixture per row, whose means, quantiles and
            draws are computed for all rows at once. Of a Dirichlet these are the shares in what is left.

        Examples
        --------
        >>> from kmle import Mixture
        >>> joint = Mixture.from_source("gaussian", [1.0], mean=[[0.0, 0.0]], covariance=[[[1.0, 0.5], [0.5, 1.0]]])
        >>> joint.condition({0: 2.0})
        Mixture of 1 gaussian: weights=[1], mean=[[1.0]], covariance=[[[0.75]]]
        """
        places, values, single = self._known(known)
        found = self._conditioned(places, values)
        if isinstance(found.given.family, GAUSSIANS):
            return found[0] if single else found  # positive everywhere
        log_density = found.given.log_density(found.rows)
        if not np.isfinite(log_density).all():
            row = "" if single else f" of row {int(np.argmax(~np.isfinite(log_density)))}"
            raise ValueError(f"the density at the known values{row} is zero: there is nothing to condition on")
        return found[0] if single else found

    def _known(self, known: Known) -> tuple[list[int], Array, bool]:
        """Columns in ascending order, their values (n, q), and whether each is a single number."""
        width = self.family.n_features or 1
        columns = list(known) if isinstance(known, Mapping) else list(getattr(known, "columns", ()))
        if not columns and not isinstance(known, Mapping):
            raise ValueError(
                f"known is a {type(known).__name__}: give columns and their values, such as {{0: 1.5}}, or a table"
            )
        given = column_places(columns, self.columns, width)
        if len(given) == width:
            raise ValueError("all columns are known: leave at least one open")
        try:
            arrays = [np.asarray(known[columns[place]], dtype=float) for place in np.argsort(given)]
            table = np.stack(np.broadcast_arrays(*arrays), axis=-1)
        except (TypeError, ValueError):
            raise ValueError("the known values must be numbers, one or equally many for each column") from None
        if table.ndim > 2 or table.size == 0:
            raise ValueError("the known values must be numbers, one or equally many for each column")
        return sorted(given), np.atleast_2d(table), table.ndim == 1

    def _conditioned(self, places: list[int], values: Array) -> ConditionalMixtures:
        """The mixtures given values (n, q) of these columns, in ascending order, whose density is not looked at."""
        family, natural = marginal(self.family, self.natural, places)
        given: Any = self._made(family, self.weights, natural, self._names(places, family))
        rows = marginal_rows(self.family, places, values)
        family.check(rows, None if given.columns is None else list(given.columns), missing=True)
        with np.errstate(over="ignore", invalid="ignore"):
            suspicious = np.isnan(values.sum())
        form = conditional_by_pattern if suspicious and has_missing(values) else conditional
        components = form(self.family, self.natural, places, values)
        rest = self._names(other_places(places, self.family.n_features or 1), components.family)
        return ConditionalMixtures(given, rows, values, components, rest)

    @classmethod
    def combine(cls, mixtures: Sequence[Mixture], weights: ArrayLike | None = None) -> Mixture:
        """Returns the mixture of mixtures; their families may differ where these have the same base measure.

        Parameters
        ----------
        mixtures : sequence of Mixture
            Mixtures of the same columns.
        weights : array, default=None
            Their weights, which sum to one; None weights all the same.

        Returns
        -------
        Mixture
            A mixture with the components of all.

        Examples
        --------
        >>> from kmle import Mixture
        >>> one, two = (Mixture.from_source("poisson", [1.0], rate=[rate]) for rate in (1.0, 5.0))
        >>> Mixture.combine([one, two], [0.25, 0.75])
        Mixture of 2 poisson: weights=[0.25 0.75], rate=[[1.0], [5.0]]
        """
        if not isinstance(mixtures, list | tuple) or not all(isinstance(each, Algebra) for each in mixtures):
            raise ValueError("combine needs a list of mixtures, such as [one, two]")
        if not mixtures:
            raise ValueError("there are no mixtures to combine: give at least one")
        shares = np.full(len(mixtures), 1 / len(mixtures)) if weights is None else np.asarray(weights, dtype=float)
        if shares.shape != (len(mixtures),):
            raise ValueError(f"weights has shape {shares.shape}: {len(mixtures)} numbers are needed, one per mixture")
        joined = np.concatenate([share * mixture.weights for share, mixture in zip(shares, mixtures, strict=True)])
        names = {mixture.columns for mixture in mixtures}
        columns = names.pop() if len(names) == 1 else None
        family = mixtures[0].family
        kind: Any = cls
        if isinstance(family, ComponentFamilies) or any(mixture.family != family for mixture in mixtures):
            members = [member for mixture in mixtures for member in mixture.members]
            return kind.from_members(joined, members).with_columns(columns)
        return kind(family, joined, np.concatenate([mixture.natural for mixture in mixtures]), columns)

    def transform_affine(self, matrix: ArrayLike, offset: ArrayLike = 0.0) -> Self:
        """Returns the mixture of y = matrix x + offset, for Gaussians and Student t.

        Parameters
        ----------
        matrix : array (m, d)
            A matrix of full row rank.
        offset : array (m,), default=0
            What is added.

        Returns
        -------
        Mixture
            A mixture of Gaussians with full covariances, or of Student t.
        """
        if not isinstance(self.family, (*GAUSSIANS, StudentT)):
            raise ValueError(f"{self.family.name} is not closed under affine maps: only Gaussians and Student t are")
        table = np.atleast_2d(np.asarray(matrix, dtype=float))
        if table.ndim != 2 or table.shape[1] != self.family.n_features:
            raise ValueError(f"matrix has shape {np.shape(matrix)}: it needs {self.family.n_features} columns")
        if not np.isfinite(table).all() or not np.isfinite(offset).all():
            raise ValueError("matrix and offset must be finite numbers")
        if np.shape(offset) not in ((), (1,), (len(table),)):
            raise ValueError(f"offset has shape {np.shape(offset)}: it must be a number, or one per row of matrix")
        if np.linalg.matrix_rank(table) < len(table):
            raise ValueError("the rows of matrix depend on each other: the image would have no density")
        shift = np.broadcast_to(np.asarray(offset, dtype=float), (len(table),))
        if isinstance(self.family, StudentT):
            source = self.family.source_from_natural(self.natural)
            moved = {"location": source["location"] @ table.T + shift, "scale": _moved(source["scale"], table)}
            own: ExponentialFamily = replace(self.family, n_features=len(table))
            return self._made(own, self.weights, own.natural_from_source(**moved, degrees=source["degrees"]))
        mean = moments.means(self.family, self.natural) @ table.T + shift
        covariance = _moved(moments.covariances(self.family, self.natural), table)
        family = Gaussian(n_features=len(table))
        return self._made(family, self.weights, family.natural_from_source(mean=mean, covariance=covariance))


def _moved(matrices: Array, table: Array) -> Array:
    """Covariances (k, m, m) of what a table (m, d) makes of vectors with these (k, d, d)."""
    moved = table @ matrices @ table.T
    return np.asarray(0.5 * (moved + np.swapaxes(moved, 1, 2)))
