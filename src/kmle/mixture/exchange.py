"""Mixtures to and from other libraries and files: SciPy, scikit-learn, model files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..queries import twins
from . import scikit_learn
from .algebra import Algebra

if TYPE_CHECKING:
    from .mixture import Mixture


class Exchange(Algebra):
    """What a mixture is called elsewhere."""

    if TYPE_CHECKING:

        def to_json(self) -> str:
            """See `Mixture`."""

        @staticmethod
        def from_json(text: str) -> Mixture:
            """See `Mixture`."""

    # SciPy ------------------------------------------------------------------------------------------------------------

    def to_scipy(self) -> Any:
        """Returns a mixture of one component as a frozen distribution of `scipy.stats`.

        Returns
        -------
        frozen distribution
            With an array of parameters, one for each column, where columns are independent.

        Examples
        --------
        >>> from kmle import Mixture
        >>> mixture = Mixture.from_source("gamma", [0.5, 0.5], shape=[2.0, 9.0], scale=[1.0, 0.5])
        >>> float(mixture.component(1).to_scipy().mean())
        4.5
        """
        if len(self.weights) != 1:
            raise ValueError(
                f"SciPy has no mixtures; this one has {len(self.weights)} components: use component(j) first"
            )
        return twins.to_scipy(self.family, self.natural[0])

    @classmethod
    def from_scipy(cls, distributions: Any, weights: ArrayLike | None = None) -> Mixture:
        """Makes a mixture of frozen distributions of `scipy.stats`.

        Parameters
        ----------
        distributions : frozen distribution or sequence of them
            Distributions that one family of kmle has.
        weights : array, default=None
            The weights, which sum to one; None weights all the same.

        Returns
        -------
        Mixture
            The mixture.

        Examples
        --------
        >>> from scipy import stats
        >>> from kmle import Mixture
        >>> Mixture.from_scipy([stats.poisson(1), stats.poisson(5)], [0.5, 0.5])
        Mixture of 2 poisson: weights=[0.5 0.5], rate=[[1.0], [5.0]]
        """
        listed = list(distributions) if isinstance(distributions, list | tuple) else [distributions]
        found = [twins.from_scipy(one) for one in listed]
        return cls.combine([cls(family, np.ones(1), natural) for family, natural in found], weights)  # type: ignore

    # scikit-learn -----------------------------------------------------------------------------------------------------

    def to_sklearn(self) -> Any:
        """Returns a mixture of Gaussians as a fitted estimator of scikit-learn.

        Returns
        -------
        GaussianMixture or KMeans
            KMeans for round Gaussians of one known variance and equal weights, GaussianMixture for others.
        """
        return scikit_learn.sklearn_from_parameters(self.family, self.weights, self.natural)

    @classmethod
    def from_sklearn(cls, model: Any) -> Mixture:
        """Makes a mixture of a fitted estimator of scikit-learn.

        Parameters
        ----------
        model : GaussianMixture, BayesianGaussianMixture or KMeans
            The fitted estimator. KMeans gives round Gaussians of equal weights, with the same labels.

        Returns
        -------
        Mixture
            The mixture, with the names of the columns if the estimator knows them.
        """
        names = getattr(model, "feature_names_in_", None)
        columns = None if names is None else [str(name) for name in names]
        return cls(*scikit_learn.parameters_from_sklearn(model), columns)  # type: ignore

    # Files ------------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the mixture to a model file (JSON), atomically.

        Parameters
        ----------
        path : path
            The file; the commands of the terminal read it too.
        """
        where = Path(path)
        if not where.parent.is_dir():
            raise FileNotFoundError(f"{where} cannot be written: there is no folder {where.parent}")
        text = self.to_json() + "\n"
        part = where.with_name(f".{where.name}.{os.getpid()}.part")
        try:
            part.write_text(text, encoding="utf-8")
            part.replace(where)
        finally:
            part.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Mixture:
        """Reads a model file, as `save` and `kmle fit --out` write it; nothing in it is executed.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        Mixture
            The mixture.
        """
        where = Path(path)
        try:
            return cls.from_json(where.read_text(encoding="utf-8-sig"))
        except UnicodeDecodeError:
            raise ValueError(f"{where} is not a valid model file: it is not UTF-8 text") from None
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
