"""All that is worth knowing about a mixture on given rows, in one value that reads well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..mixture import Mixture
from ..numerics.options import whole_number
from .goodness import kolmogorov_smirnov, pit
from .outliers import tail_probabilities
from .overfitting import overfitting
from .rows import legal_rows, mixture_and_data
from .separation import Separation, separation

# A row whose tail probability is below this is called improbable.
IMPROBABLE = 1e-3
# Above this mean posterior entropy, in nats per row, components overlap enough to bias the parameters of a hard fit.
OVERLAP = 0.1


@dataclass(frozen=True)
class Diagnostics:
    """What was found; `str` gives a table of the components and a sentence about each of the rest.

    Attributes
    ----------
    mixture : Mixture
        The mixture.
    n_rows : int
        The number of rows.
    separation : Separation
        How far apart components are.
    mean_log_density : float
        The mean log-density of the rows.
    improbable : int or None
        Rows with a tail probability below one in a thousand; None if the mixture cannot be drawn from.
    distance : float or None
        Kolmogorov-Smirnov distance between the data and the mixture; None for data of several columns.
    overfitted : str or None
        Why the rows do not support this number of components; None where nothing speaks against it.
    remarks : tuple of str
        What could not be examined, and why.
    """

    mixture: Mixture
    n_rows: int
    separation: Separation
    mean_log_density: float
    improbable: int | None
    distance: float | None
    overfitted: str | None = None
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join([*self._table(), "", *self._sentences()])

    def _table(self) -> list[str]:
        found = self.separation
        lines = ["component  weight    rows  own posterior  nearest  overlap  elsewhere"]
        for j, weight in enumerate(self.mixture.weights):
            alone = self.mixture.n_components == 1
            neighbour = "-" if alone else str(found.nearest[j])
            shared = "-" if alone else f"{found.overlap[j, found.nearest[j]]:.4f}"
            lines.append(
                f"{j:>9}  {weight:6.4f}  {found.rows[j]:6.0f}  {found.own_posterior[j]:13.4f}  {neighbour:>7}  "
                f"{shared:>7}  {1 - found.confusion[j, j]:9.4f}"
            )
        return lines

    def _sentences(self) -> list[str]:
        entropy = self.separation.mean_entropy
        sentences = [
            _apart(entropy, self.overfitted),
            f"The mean log-density of the {self.n_rows} rows is {self.mean_log_density:.4f}.",
        ]
        if self.improbable is not None:
            rows = "1 row is" if self.improbable == 1 else f"{self.improbable} rows are"
            sentences.append(
                f"{rows} improbable (below one in a thousand of the mixture's own draws); "
                f"{IMPROBABLE * self.n_rows:.1f} would be expected."
            )
        if self.distance is not None:
            limit = 1.36 / np.sqrt(self.n_rows)
            verdict = "no more than" if self.distance <= limit else "more than"
            sentences.append(
                f"The Kolmogorov-Smirnov distance to the data is {self.distance:.4f}, {verdict} the {limit:.4f} that "
                "19 of 20 samples of a mixture known beforehand stay below (a fitted one is closer)."
            )
        return [*sentences, *self.remarks]


def _apart(entropy: float, overfitted: str | None) -> str:
    measured = f"the mean posterior entropy is {entropy:.4f} nats"
    if overfitted is not None and entropy <= OVERLAP:
        return f"There may be too many components, because {overfitted}; {measured}, which means little in this case."
    return f"The components {'overlap' if entropy > OVERLAP else 'are well separated'}: {measured}."


def diagnose(model: Any, X: ArrayLike, n_draws: int = 10_000, random_state: Any = 0) -> Diagnostics:
    """Computes separation, overlap, improbable rows and, for one column, goodness of fit.

    Parameters
    ----------
    model : fitted estimator or Mixture
        The mixture.
    X : array (n, d)
        The rows.
    n_draws : int, default=10000
        Samples of the mixture that calibrate improbable rows.
    random_state : int, Generator or None, default=0
        The seed of the samples.

    Returns
    -------
    Diagnostics
        All values; `str` gives a table of the components and one sentence for each other value.

    Examples
    --------
    >>> mixture = Mixture.from_source("poisson", [0.4, 0.6], rate=[2.0, 30.0])
    >>> print(diagnose(mixture, mixture.sample(1000, random_state=1)))
    component  weight    rows  own posterior  nearest  overlap  elsewhere
            0  0.4000     415         1.0000        1   0.0003     0.0000
            1  0.6000     585         1.0000        0   0.0003     0.0000
    <BLANKLINE>
    The components are well separated: the mean posterior entropy is 0.0000 nats.
    ...
    """
    mixture, X = mixture_and_data(model, X)
    rows = legal_rows(mixture, X)
    remarks: list[str] = []
    improbable = distance = None
    density = mixture.log_density(rows)
    whole_number("n_draws", n_draws, 1)
    try:
        draws = mixture.sample(n_draws, random_state)
    except ValueError as error:
        remarks.append(f"Improbable rows are not available: {error}.")
    else:
        improbable = int(np.count_nonzero(tail_probabilities(density, mixture.log_density(draws)) < IMPROBABLE))
    if rows.shape[1] == 1 and mixture.family.n_features == 1:
        try:
            distance = kolmogorov_smirnov(pit(mixture, rows, random_state))
        except ValueError as error:
            remarks.append(f"Goodness of fit is not available: {error}.")
    return Diagnostics(
        mixture,
        rows.shape[0],
        separation(mixture, rows),
        float(density.mean()),
        improbable,
        distance,
        overfitting(mixture, rows, mixture.predict(rows)),
        tuple(remarks),
    )
