"""The figures of merit of a mixture on data, for tables and for JSON."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any

from ..estimator.notes import named_columns
from ..learning.criteria import CRITERIA, Criteria

if TYPE_CHECKING:
    from .learning import Outcome

__all__ = ["fit_facts", "fit_figures", "merits", "named_columns", "shown"]


def merits(criteria: Criteria) -> dict[str, Any]:
    """Both likelihoods and the criteria as plain values; None for a criterion too few rows leave without a value."""
    values = {name: getattr(criteria, name) for name in ("log_likelihood", "complete_log_likelihood", *CRITERIA)}
    return {name: value if isfinite(value) else None for name, value in values.items()}


def shown(figures: dict[str, Any]) -> dict[str, str]:
    """The same as words.

    >>> shown(merits(Criteria(-100.0, -101.0, n_parameters=5, n=50)))["AIC, BIC, ICL"]
    '210.000, 219.560, 221.560 (lower is better)'
    """
    three = ", ".join(f"{figures[name]:.3f}" for name in ("aic", "bic", "icl"))
    return {
        "log-likelihood": f"{figures['log_likelihood']:.3f}, complete {figures['complete_log_likelihood']:.3f}",
        "AIC, BIC, ICL": f"{three} (lower is better)",
    }


def fit_figures(outcome: Outcome) -> dict[str, Any]:
    """What is worth knowing about a fit, as plain values."""
    fit = outcome.estimator.fit_
    return {
        **merits(fit.criteria),
        "stop_reason": fit.stop_reason,
        "iterations": fit.n_iter,
        "starts": str(fit.starts),
        "notes": list(outcome.estimator.notes_),
        "algorithm": fit.algorithm,
        "engine": fit.engine,
        "work": asdict(fit.work),
        "seconds": outcome.seconds,
    }


def fit_facts(figures: dict[str, Any]) -> dict[str, str]:
    """The figures of a fit as lines of a table."""
    steps = "1 iteration" if figures["iterations"] == 1 else f"{figures['iterations']} iterations"
    engine, _, rows = figures["engine"].partition(" on ")
    # A stream that is read once names no engine.
    engine += ("" if engine.startswith("stream") else " engine") + (f" on {rows}" if rows else "")
    return {
        **shown(figures),
        "stopped": f"{figures['stop_reason']}, after {steps}",
        "starts": figures["starts"],
        "learned by": f"{figures['algorithm']}, {engine}, {figures['seconds']:.3f} s",
    }
