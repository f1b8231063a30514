"""The figures of merit of a mixture on data, for tables and for JSON."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .learning import Outcome


def criteria(log_likelihood: float, complete: float, n_parameters: int, n: float) -> dict[str, float]:
    """Both likelihoods and the criteria; of those, lower is better."""
    return {
        "log_likelihood": log_likelihood,
        "complete_log_likelihood": complete,
        "aic": -2 * log_likelihood + 2 * n_parameters,
        "bic": -2 * log_likelihood + n_parameters * log(n),
        "icl": -2 * complete + n_parameters * log(n),
    }


def shown(figures: dict[str, float]) -> dict[str, str]:
    """The same as words.

    >>> shown(criteria(-100.0, -101.0, 5, 50.0))["AIC, BIC, ICL"]
    '210.000, 219.560, 221.560 (lower is better)'
    """
    three = ", ".join(f"{figures[name]:.3f}" for name in ("aic", "bic", "icl"))
    return {
        "log-likelihood": f"{figures['log_likelihood']:.3f}, complete {figures['complete_log_likelihood']:.3f}",
        "AIC, BIC, ICL": f"{three} (lower is better)",
    }


def fit_figures(outcome: Outcome, n: float) -> dict[str, Any]:
    """What is worth knowing about a fit, as plain values."""
    fit = outcome.estimator.fit_
    merits = criteria(fit.log_likelihood, fit.complete_log_likelihood, fit.mixture.n_parameters, n)
    return {
        **merits,
        "stop_reason": fit.stop_reason,
        "iterations": fit.n_iter,
        "algorithm": fit.algorithm,
        "engine": fit.engine,
        "seconds": outcome.seconds,
    }


def fit_facts(figures: dict[str, Any]) -> dict[str, str]:
    """The figures of a fit as lines of a table."""
    steps = "1 iteration" if figures["iterations"] == 1 else f"{figures['iterations']} iterations"
    engine, _, rows = figures["engine"].partition(" on ")
    engine += " engine" + (f" on {rows}" if rows else "")
    return {
        **shown(figures),
        "stopped": f"{figures['stop_reason']}, after {steps}",
        "learned by": f"{figures['algorithm']}, {engine}, {figures['seconds']:.3f} s",
    }
