"""AIC (Akaike, 1974), AICc (Hurvich and Tsai, 1989), BIC (Schwarz, 1978), ICL (Biernacki et al., 2000); lower is
better.
"""

from dataclasses import dataclass
from math import inf, log

CRITERIA = ("aic", "aicc", "bic", "icl")


def aic(log_likelihood: float, n_parameters: int, n: float) -> float:
    """Akaike's criterion, -2 log L + 2 p; it does not depend on n.

    >>> aic(-100.0, 5, 50)
    210.0
    """
    return -2 * log_likelihood + 2 * n_parameters


def aicc(log_likelihood: float, n_parameters: int, n: float) -> float:
    """AIC corrected for small samples (Hurvich and Tsai); infinite where n - p - 1 is not positive.

    >>> aicc(-100.0, 5, 16), aicc(-100.0, 5, 6)
    (216.0, inf)
    """
    spare = n - n_parameters - 1
    if spare <= 0:
        return inf
    return aic(log_likelihood, n_parameters, n) + 2 * n_parameters * (n_parameters + 1) / spare


def bic(log_likelihood: float, n_parameters: int, n: float) -> float:
    """Schwarz's criterion, -2 log L + p log n.

    >>> round(bic(-100.0, 5, 50), 4)
    219.5601
    """
    return -2 * log_likelihood + n_parameters * log(n)


def icl(complete_log_likelihood: float, n_parameters: int, n: float) -> float:
    """The integrated complete likelihood criterion: BIC of the complete likelihood, so doubtful labels cost.

    >>> round(icl(-103.0, 5, 50), 4)
    225.5601
    """
    return bic(complete_log_likelihood, n_parameters, n)


@dataclass(frozen=True)
class Criteria:
    """All criteria of one fit; n is the number of rows, or their total weight.

    >>> Criteria(-100.0, -103.0, n_parameters=5, n=50).aic
    210.0
    """

    log_likelihood: float
    complete_log_likelihood: float
    n_parameters: int
    n: float

    @property
    def aic(self) -> float:
        """Akaike's criterion."""
        return aic(self.log_likelihood, self.n_parameters, self.n)

    @property
    def aicc(self) -> float:
        """AIC corrected for small samples; infinite where there are too many parameters for it."""
        return aicc(self.log_likelihood, self.n_parameters, self.n)

    @property
    def bic(self) -> float:
        """Schwarz's criterion."""
        return bic(self.log_likelihood, self.n_parameters, self.n)

    @property
    def icl(self) -> float:
        """BIC with the complete likelihood."""
        return icl(self.complete_log_likelihood, self.n_parameters, self.n)

    def value(self, criterion: str) -> float:
        """One of `CRITERIA` by its name."""
        return {"aic": self.aic, "aicc": self.aicc, "bic": self.bic, "icl": self.icl}[criterion]
